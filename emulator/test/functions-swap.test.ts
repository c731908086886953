import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { listen } from '../listen.ts';
import { folderWith, functionOf, resultOf } from './kit/one-function.ts';

const returning = (value: string): string => `exports.handler = async () => ${JSON.stringify(value)}`;
const folderOf = (code: string): Promise<string> => folderWith({ 'index.js': code });

/** Starts a server for functions to connect to. A closed connection shows that the function's thread has ended. */
const startServer = async (): Promise<{ server: Server; port: number }> => {
  const server = createServer((socket) => socket.on('error', () => {}));
  onTestFinished(() => void server.close());
  return { server, port: await listen(server, 0) };
};

test('swap() uses the new code for later events, and ends idle instances that run the old code', async () => {
  const { server, port } = await startServer();
  const connected = once(server, 'connection');
  const fn = await functionOf(`require('node:net').connect(${port}, '127.0.0.1'); ${returning('old')}`);
  expect(resultOf(await fn.invoke())).toBe('old');
  const [socket]: Socket[] = await connected;
  const closed = new Promise((resolve) => socket?.on('close', resolve).resume());

  await fn.swap(await folderOf(returning('new')));
  expect(resultOf(await fn.invoke())).toBe('new');
  await closed;
});

test('swap() lets an event in progress finish with the old code, and then ends the instance that handled the event', async () => {
  const { server, port } = await startServer();
  const connected = once(server, 'connection');
  const fn = await functionOf(`
    const connection = require('node:net').connect(${port}, '127.0.0.1');
    exports.handler = () => new Promise((resolve) => connection.on('data', () => resolve('old')));`);
  const inProgress = fn.invoke();
  const [socket]: Socket[] = await connected;
  const closed = new Promise((resolve) => socket?.on('close', resolve).resume());

  await fn.swap(await folderOf(returning('new')));
  expect(resultOf(await fn.invoke())).toBe('new');
  socket?.write('finish');
  expect(resultOf(await inProgress)).toBe('old');
  await closed;
  expect(resultOf(await fn.invoke())).toBe('new');
});

test('after swap(), events that were waiting for a free instance run with the new code', async () => {
  const fn = await functionOf('exports.handler = () => new Promise(() => setInterval(() => {}, 1e6))');
  const outcomes = Array.from({ length: 10 }, () => fn.invoke());
  await fn.swap(await folderOf(returning('new')));
  expect((await Promise.all(outcomes.slice(8))).map(resultOf)).toEqual(['new', 'new']);
  await fn.functions.close();
});

test.each([
  ['throws while it loads', "throw new Error('no table')", 'no table'],
  ['does not parse', 'exports.handler = (', 'Runtime.UserCodeSyntaxError'],
  ['exports no handler', 'exports.other = 1', 'index.handler is undefined or not exported'],
])('swap() rejects new code that %s, and keeps the old code', async (_, code, reason) => {
  const fn = await functionOf(returning('old'));
  await expect(fn.swap(await folderOf(code))).rejects.toThrow(reason);
  expect(resultOf(await fn.invoke())).toBe('old');
});

test('if two calls of swap() overlap, the function runs the code of the call that began last', async () => {
  const fn = await functionOf(returning('old'));
  const slow = `Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300); ${returning('slow')}`;
  await Promise.all([fn.swap(await folderOf(slow)), fn.swap(await folderOf(returning('last')))]);
  expect(resultOf(await fn.invoke())).toBe('last');
});

test('swap() rejects, without loading the new code, if the function is already closed', async () => {
  const { server, port } = await startServer();
  const connections: Socket[] = [];
  server.on('connection', (socket) => connections.push(socket));
  const fn = await functionOf(returning('old'));
  const folder = await folderOf(`require('node:net').connect(${port}, '127.0.0.1'); ${returning('new')}`);
  await fn.functions.close();
  await expect(fn.swap(folder)).rejects.toThrow('The function Fn was closed.');
  expect(connections).toEqual([]);
});

test('swap() rejects if the function is closed while the new code is being loaded', async () => {
  const { server, port } = await startServer();
  const loading = once(server, 'connection');
  const fn = await functionOf(returning('old'));
  const code = `import net from 'node:net'; net.connect(${port}, '127.0.0.1'); await new Promise(() => {});`;
  const swapping = expect(fn.swap(await folderWith({ 'index.mjs': code }))).rejects.toThrow(
    'The function Fn was closed.',
  );
  await loading;
  await fn.functions.close();
  await swapping;
});

test('swap() rejects code for a function that does not exist', async () => {
  const { functions, spec } = await functionOf(returning('old'));
  await expect(functions.swap('Other', spec.folder)).rejects.toThrow('The stack has no function Other.');
});
