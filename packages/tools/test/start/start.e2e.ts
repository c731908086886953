/** Tests what `npm start` prints, how the service stops, and that a debugger can attach with --debug. */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { pathToFileURL } from 'node:url';
import { bodyOf, createOperation, createRoute, newId, otherContent } from '@lambda-service/testing/data';
import {
  type LocalService,
  listData,
  post,
  startLocalService,
  testFolder,
  tools,
} from '@lambda-service/testing/programs';
import { portMayBeTaken } from '@lambda-service/testing/servers';
import { until } from '@lambda-service/testing/waiting';
import { expect, onTestFinished, test } from 'vitest';
import { fetchToken, readSession } from '../../start/session.ts';

/** Starts a service with its data in this folder. If it still runs when the test ends, it is killed. */
const start = async (folder: string, command?: [string, ...string[]]): Promise<LocalService> => {
  const service = await startLocalService(folder, {}, command);
  onTestFinished(async () => void (await service.stop('SIGKILL')));
  return service;
};

/** Returns whether the process with this id is running or, for a negative id, any process in that process group. */
const isRunning = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

const calm = expect.not.stringMatching(/error|warning/i);

test('npm start keeps items and tokens after two Ctrl-C, and stops with its terminal', portMayBeTaken, async () => {
  const folder = await testFolder();
  const first = await start(folder);
  expect(first.output()).toContain(`${first.url}/docs\n`);
  expect(first.output()).not.toContain('your own');
  const id = newId();
  const token = await fetchToken(readSession(folder));
  expect(await post(first.url, bodyOf(id), token), 'status').toBe(200);
  // The second Ctrl-C must end even a running request.
  const client = connect(Number(new URL(first.url).port), '127.0.0.1').on('error', () => {});
  client.write(`${createRoute} HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: x\r\ncontent-length: 9\r\n\r\n`);
  // When this second request is answered, the first one has arrived.
  await fetch(`${first.url}/openapi.json`);
  void first.stop('SIGINT');
  await until(() => first.output().includes('Stopping'));
  await expect(fetch(first.url)).rejects.toThrow();
  await until(() => {
    void first.stop('SIGINT');
    return !isRunning(first.pid);
  });
  expect(await first.ended).toMatchObject({ code: 130, stderr: calm });
  client.destroy();

  // npm takes this option for itself, because there is no -- before it.
  const second = await start(folder, ['npm', 'start', '--watch']);
  expect(second.output()).toContain('are served without a restart');
  expect(await post(second.url, bodyOf(id, otherContent), token), 'status').toBe(409);
  second.child.stdout.destroy();
  second.child.stderr.destroy();
  // Send SIGHUP to the whole process group, as the system does when a terminal closes. The group includes the guard
  // process of packages/testing/programs/local-service.ts.
  const group = -second.pid;
  onTestFinished(() => void (isRunning(group) && process.kill(group, 'SIGKILL')));
  process.kill(group, 'SIGHUP');
  await until(() => !isRunning(group));
  expect(await listData(folder)).toEqual(['dynamodb', 'issuer.json', 'lock']);
});

type Message = { method?: string; params?: { sourceMapURL?: string } };

/** Attaches to each worker thread of a process, and pauses it. @returns the messages of the threads, a list that grows */
const pauseThreads = (address: string): Promise<Message[]> =>
  new Promise((resolve, reject) => {
    const socket = new WebSocket(`ws://${address}`);
    const messages: Message[] = [];
    const send = (method: string, params: object) => socket.send(JSON.stringify({ id: 1, method, params }));
    socket.addEventListener('error', () => reject(new Error(`Nothing can attach to ${address}.`)));
    socket.addEventListener('open', () => {
      send('NodeWorker.enable', { waitForDebuggerOnStart: false });
      resolve(messages);
    });
    socket.addEventListener('message', ({ data }) => {
      const { method, params } = JSON.parse(String(data));
      if (method === 'NodeWorker.receivedMessageFromWorker') messages.push(JSON.parse(params.message));
      if (method !== 'NodeWorker.attachedToWorker') return;
      for (const command of ['Debugger.enable', 'Debugger.pause']) {
        const message = JSON.stringify({ id: 1, method: command });
        send('NodeWorker.sendMessageToWorker', { sessionId: params.sessionId, message });
      }
    });
  });

/** The sources of the code that a thread has loaded, if that code has a source map. */
const sourcesOf = ({ params }: Message): string[] => {
  const [, map] = /^data:.*,(.*)/.exec(params?.sourceMapURL ?? '') ?? [];
  const { sourceRoot = '', sources = [] } = map ? JSON.parse(Buffer.from(map, 'base64').toString()) : {};
  return sources.map((source: string) => sourceRoot + source);
};

test('npm start -- --debug lets only a debugger that knows its address pause the functions and find their sources, and Ctrl-C ends the service even then', async () => {
  const folder = await testFolder();
  const service = await start(folder, [...tools, 'start', '--debug=0']);
  const [, address = ''] = /devtools:\S+[?&]ws=(127\.0\.0\.1:\d+\/[\w-]{36})\s/.exec(service.output()) ?? [];
  const { host } = new URL(`ws://${address}`);
  expect((await fetch(`http://${host}/json/list`)).status).toBe(404);
  await expect(pauseThreads(`${host}/${randomUUID()}`), 'a guessed address').rejects.toThrow();
  const messages = await pauseThreads(address);
  for (const file of [`functions/${createOperation.file}.ts`, 'packages/runtime/auth/authorizer.ts']) {
    const source = pathToFileURL(file).href;
    await until(() => messages.some((message) => sourcesOf(message).includes(source)));
  }
  const session = readSession(folder);
  post(session.url, bodyOf(), await fetchToken(session)).catch(() => {});
  await until(() => messages.some(({ method }) => method === 'Debugger.paused'));
  // Open an idle connection, as browsers do. An open connection must not keep the service from stopping.
  const idle = connect(Number(new URL(session.url).port), '127.0.0.1').on('error', () => {});
  await once(idle, 'connect');
  // Send SIGINT twice: a Ctrl-C reaches the service from the terminal, and npm forwards the signal again.
  for (const _ of [1, 2]) service.child.kill('SIGINT');
  expect(await service.ended).toMatchObject({ code: 0, stderr: calm });
  expect(service.output()).toContain('Stopping');
  expect(await listData(folder)).toEqual(['dynamodb', 'issuer.json', 'lock']);
  idle.destroy();
});
