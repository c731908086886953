import { until } from '@lambda-service/testing/waiting';
import { expect, test } from 'vitest';
import { runHere } from './cli/kit/run-here.ts';

test.each([
  [['restore', '--form', 'a'], "unknown option '--form' (Did you mean --from?)\n"],
  [['restor'], "unknown command 'restor' (Did you mean restore?)\n"],
])('%j is refused in one line that names what was probably meant', async (args, stderr) => {
  expect(await runHere(args).ended).toEqual({ code: 1, stdout: '', stderr });
});

const { stdout: help } = await runHere(['--help']).ended;
const names = [...help.matchAll(/^ {2}([a-z][\w-]*) {2,}/gm)].map(([, name = '']) => name);

test.each(names)('the command %s names an unknown option, rather than a missing one', async (name) => {
  const stderr = "unknown option '--nonsense'\n";
  expect(await runHere([name, '--nonsense']).ended).toEqual({ code: 1, stdout: '', stderr });
});

test('a command that has nothing to clean up ends at once on Ctrl-C, with code 130', async () => {
  const { child, ended } = runHere(['stack-trace']);
  await until(() => child.listenerCount('SIGINT') > 0);
  child.emit('SIGINT');
  expect(child.exitCode).toBe(130);
  // The fake process goes on.
  child.stdin.end();
  expect((await ended).stderr).toMatch(/^Stopped\.\n/);
});
