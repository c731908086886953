/** Tests what `npm start` prints, and how the service stops. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, onTestFinished } from 'vitest';
import { isRunning } from '../../../test/kit/local-service.ts';
import { test } from '../../../test/kit/local-service-test.ts';
import { until } from '../../../test/kit/waiting.ts';

const calm = expect.not.stringMatching(/error|warning/i);

test('npm start prints a command that stores a plant, keeps plants after SIGINT, and stops if its terminal closes', async ({
  home,
}) => {
  const first = await home.start();
  expect(first.output()).toContain(`${first.url}/docs\n`);
  expect(first.output()).not.toContain('your own');
  expect(await home.paste(first)).toBe('200 {"name":"Swiss cheese plant","tag":"climber"}\n');
  const line = /^POST \/plants 200 \d+ ms \S+ \| Authorizer INFO {"outcome":"allowed"} \| CreatePlant INFO {.*}$/m;
  await until(() => line.test(first.output()));

  // Open an idle connection, as browsers do. An open connection must not keep the service from stopping.
  const idle = connect(Number(new URL(first.url).port), '127.0.0.1').on('error', () => {});
  await once(idle, 'connect');
  // Send SIGINT twice: a Ctrl-C reaches the service from the terminal, and npm forwards the signal again.
  void first.stop('SIGINT');
  expect(await first.stop('SIGINT')).toMatchObject({ code: 0, stderr: calm });
  expect(first.output()).toContain('Stopping');
  expect(await home.list()).toEqual(['curl', 'dynamodb', 'lock']);
  await expect(fetch(first.url)).rejects.toThrow();
  idle.destroy();

  const second = home.begin('npm', 'start');
  await until(() => second.output().includes('Ctrl-C'));
  expect(await home.paste(second, (line) => line.replace('climber', 'creeper'))).toMatch(/^409 .*40901/);
  second.child.stdout.destroy();
  second.child.stderr.destroy();
  // Send SIGHUP to the whole process group, as the system does when a terminal closes. The group includes the guard
  // process of test/kit/local-service.ts.
  const group = -(second.child.pid ?? 0);
  onTestFinished(() => void (isRunning(group) && process.kill(group, 'SIGKILL')));
  process.kill(group, 'SIGHUP');
  await until(() => !isRunning(group));
  expect(await home.list()).toEqual(['curl', 'dynamodb', 'lock']);
});
