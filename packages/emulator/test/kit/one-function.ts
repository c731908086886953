/** Makes functions with code from a test, to test the emulator's Lambda runtime, and watches their threads. */

import { mkdir, writeFile } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import path from 'node:path';
import { onTestFinished } from 'vitest';
import { type FunctionOptions, Functions, type Outcome } from '../../lambda/functions.ts';
import type { FunctionSpec } from '../../served-stack.ts';
import { listen } from '../../servers.ts';
import { account } from './templates.ts';
import { stopTimers, temporaryFolder } from './temporary.ts';

/** A function whose role allows nothing in the store. It has no code, so it cannot be invoked. */
export const functionSpec: FunctionSpec = {
  name: 'Fn',
  account,
  folder: '',
  handler: 'index.handler',
  runtime: 'nodejs24.x',
  environment: {},
  timeout: 3_000,
  memoryMegabytes: 128,
  logLevel: 'INFO',
  role: [],
  roleName: 'FnRole',
};

/** The function's timeout, in milliseconds: longer than any machine needs to pass an event to a worker thread. */
export const timeout = 300_000;

/** Creates a folder with `files` (contents by path). Removes the folder when the test has finished. */
export const folderWith = async (files: Record<string, string>): Promise<string> => {
  const folder = await temporaryFolder();
  for (const [name, content] of Object.entries(files)) {
    const file = path.join(folder, name);
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, content);
  }
  return folder;
};

/**
 * Makes a function named Fn. `code` is the code of its index.js, or the contents of its files by path. Timers of this
 * thread, which enforce the time limits of functions, stand still until a test advances them.
 */
export const functionOf = async (
  code: string | Record<string, string>,
  spec: Partial<FunctionSpec> = {},
  options: FunctionOptions = {},
) => {
  stopTimers();
  const folder = await folderWith(typeof code === 'string' ? { 'index.js': code } : code);
  const fn: FunctionSpec = { ...functionSpec, folder, timeout, ...spec };
  const functions = new Functions([fn], options);
  onTestFinished(() => functions.close());
  const invoke = (event: unknown = {}): Promise<Outcome> => functions.invokeByName('Fn', event);
  return { functions, spec: fn, invoke };
};

/** Returns the result of an invocation. @throws Error with the reason if the invocation failed */
export const resultOf = (outcome: Outcome): unknown => {
  if ('failure' in outcome) throw new Error(`There is no result: ${outcome.failure}`);
  return JSON.parse(outcome.result);
};

/** Invokes a function once. @returns its result */
export const returned = async (...fn: Parameters<typeof functionOf>): Promise<unknown> =>
  resultOf(await (await functionOf(...fn)).invoke());

/** A connection of a function's thread. `ended` resolves when the thread has ended. */
type Thread = { send: () => void; ended: Promise<unknown> };

/**
 * Lets a test see when functions' threads begin and end: a function runs the code `connect`, whose value is a socket.
 * @returns also `next`, which waits for the next thread that connects and that no earlier call has returned, and the
 * number of connections so far
 */
export const watchThreads = async () => {
  let connections = 0;
  const arrived: Socket[] = [];
  const waiting: ((socket: Socket) => void)[] = [];
  const server = createServer((socket) => {
    connections += 1;
    socket.on('error', () => {}).resume();
    const resolve = waiting.shift();
    if (resolve) resolve(socket);
    else arrived.push(socket);
  });
  const port = await listen(server, 0);
  onTestFinished(() => void server.close());
  return {
    connect: `process.getBuiltinModule('node:net').connect(${port}, '127.0.0.1')`,
    connections: () => connections,
    next: async (): Promise<Thread> => {
      const socket = arrived.shift() ?? (await new Promise<Socket>((resolve) => waiting.push(resolve)));
      return {
        send: () => void socket.write('go on'),
        ended: new Promise((resolve) => (socket.closed ? resolve(0) : socket.on('close', resolve))),
      };
    },
  };
};

/** Code of a handler that returns `value`. */
export const returning = (value: string): string => `exports.handler = async () => ${JSON.stringify(value)}`;
