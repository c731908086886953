/** Tests that no process started by a test outlives it, however the test ends. */
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect } from 'vitest';
import { isRunning, run } from './local-service.ts';
import { test } from './local-service-test.ts';
import { until } from './until.ts';

const vitest = path.resolve('node_modules/vitest/vitest.mjs');
const kit = JSON.stringify(path.join(import.meta.dirname, 'local-service.ts'));

/**
 * Runs a test with this body in a separate Vitest process. The body can call `run`, `startLocalService` and
 * `printGroup`, which prints the id of a process group.
 */
const runTest = async (folder: string, body: string) => {
  const code = `test('runs the body', async () => {
    const { run, startLocalService } = await import(${kit});
    const printGroup = ({ pid }) => {
      process.kill(-pid, 0);
      console.log('started ' + pid);
    };
    ${body}
  }, 0);`;
  await writeFile(path.join(folder, 'inner.test.ts'), code);
  const options = ['--root', folder, '--globals', '--pool', 'threads', '--disable-console-intercept'];
  const runner = run(process.execPath, [vitest, 'run', ...options]);
  const started = () => Number(/started (\d+)/.exec(runner.output())?.[1] ?? 0);
  await until(() => started() > 0);
  return { ...runner, group: -started() };
};

test('when the test runner is killed, a service that a test started through npm ends, too', async ({ home }) => {
  await writeFile(path.join(home.folder, 'package.json'), '{"scripts":{"start":"node service.cjs"}}');
  await writeFile(
    path.join(home.folder, 'service.cjs'),
    `const server = require('node:http').createServer((_, response) => response.end());
    server.listen(0, '127.0.0.1', () => console.log('at http://127.0.0.1:' + server.address().port + ' until Ctrl-C'));`,
  );
  const folder = JSON.stringify(home.folder);
  const { child, ended, group, output } = await runTest(
    home.folder,
    `const service = await startLocalService(${folder}, {}, ['npm', 'start', '--prefix', ${folder}]);
    console.log('serves at ' + service.url + ' ');
    printGroup(service);
    await new Promise(() => {});`,
  );
  const url = /serves at (\S+)/.exec(output())?.[1] ?? '';
  expect((await fetch(url)).status).toBe(200);
  child.kill('SIGKILL');
  await ended;
  await until(() => !isRunning(group));
  await expect(fetch(url)).rejects.toThrow();
});

test('when the test runner ends, a command that a test left running ends, too', async ({ home }) => {
  const { ended, group } = await runTest(
    home.folder,
    `printGroup(run('sh', ['-c', 'sleep 1000 & sleep 1000']).child);`,
  );
  expect((await ended).code).toBe(0);
  await until(() => !isRunning(group));
});

test('when a command that a test started ends, any process that the command left running is ended, too', async () => {
  const { child, ended } = run('sh', ['-c', 'sleep 1000 & echo started']);
  expect(await ended).toMatchObject({ code: 0, stdout: 'started\n' });
  await until(() => !isRunning(-(child.pid ?? 0)));
});
