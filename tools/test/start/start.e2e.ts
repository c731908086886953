/** Tests what `npm start` prints, how the service stops, and that a debugger can attach with --debug. */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished } from 'vitest';
import packageJson from '../../../package.json' with { type: 'json' };
import { attachDebugger } from '../../../test/kit/debugger.ts';
import { isRunning, post } from '../../../test/kit/local-service.ts';
import { test } from '../../../test/kit/local-service-test.ts';
import { until } from '../../../test/kit/waiting.ts';
import { fetchToken, readSession } from '../../start/session.ts';

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

/**
 * A pause in milliseconds that is longer than createPlant's time-out (5 s), the authorizer's (9 s), and the time that
 * the gateway waits for the authorizer (10 s).
 */
const longerThanTheTimeOut = 11_000;

test('npm start -- --debug lets only a debugger that knows its address pause a function at a line of its source, for longer than its time-out, and Ctrl-C ends the service even then', async ({
  home,
}) => {
  const service = home.begin('sh', '-c', `${packageJson.scripts.start} --debug=0`);
  await until(() => service.output().includes('Ctrl-C'));
  const [, address = ''] = /devtools:\S+[?&]ws=(127\.0\.0\.1:\d+\/[\w-]{36})\s/.exec(service.output()) ?? [];
  const { host } = new URL(`ws://${address}`);
  expect((await fetch(`http://${host}/json/list`)).status).toBe(404);
  await expect(attachDebugger(`${host}/${randomUUID()}`), 'a guessed address').rejects.toThrow();
  const { workers, detach } = await attachDebugger(address);
  const session = readSession(home.folder);
  const token = await fetchToken(session);
  const send = (id: number, name: string) => post(session.url, JSON.stringify({ id, name }), token);
  /** Sets a breakpoint in each instance of a function. @returns a function that waits for the instance that pauses */
  const breakAt = async (file: string, text: string) => {
    const set = await Promise.all(workers.map((worker) => worker.breakAt(file, text)));
    const instances = workers.filter((_, index) => set[index]);
    expect(instances, `threads that run ${file}`).not.toEqual([]);
    const paused = () => instances.find(({ frame }) => frame !== undefined);
    return async () => {
      await until(() => paused() !== undefined);
      return paused();
    };
  };

  const pausedOperation = await breakAt('functions/create-plant.ts', 'await addPlant(table');
  const first = send(1, 'Moss');
  const operation = await pausedOperation();
  const pausedAuthorizer = await breakAt('functions/authorizer.lambda.ts', 'verdictOn(event)');
  const second = send(2, 'Fern');
  const authorizer = await pausedAuthorizer();
  // The debugger has paused two instances, so other instances handle the next request.
  expect(await send(3, 'Ivy'), 'status').toBe(200);

  await sleep(longerThanTheTimeOut);
  expect(await operation?.evaluate('newPlant.name')).toBe('Moss');
  expect(await authorizer?.evaluate('event.routeKey')).toBe('POST /plants');
  await Promise.all([operation, authorizer].map((worker) => worker?.call('Debugger.resume')));
  expect(await Promise.all([first, second]), 'statuses').toEqual([200, 200]);

  // A Ctrl-C ends the service even if the debugger has paused a thread.
  const pausedAgain = await breakAt('functions/authorizer.lambda.ts', 'Object.hasOwn(scopes');
  send(4, 'Lily').catch(() => {});
  await pausedAgain();
  service.child.kill('SIGINT');
  expect((await service.ended).code, 'exit code').toBe(0);
  detach();
});
