import { until } from '@lambda-service/testing/waiting';
import { expect, test } from 'vitest';
import { runHere } from './cli/kit/run-here.ts';

// A test of one command is enough, because all leave unknown options to Commander.
test.each([
  [['restore', '--form', 'a'], "error: unknown option '--form' (Did you mean --from?)\n"],
  [['restor'], "error: unknown command 'restor' (Did you mean restore?)\n"],
])('%j is refused in one line that names what was probably meant', async (args, stderr) => {
  expect(await runHere(args).ended).toEqual({ code: 1, stdout: '', stderr });
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
