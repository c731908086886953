import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import { listen } from '../../listen.ts';

/** A connection of a function's thread. `ended` resolves when the thread has ended. */
type Thread = { send: () => void; ended: Promise<unknown> };

/**
 * Lets a test see when functions' threads begin and end: a function runs the code `connect`, whose value is a socket.
 * @returns also `next`, which waits for the next thread that connects, and the number of connections so far
 */
export const watchThreads = async () => {
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    socket.on('error', () => {}).resume();
  });
  const port = await listen(server, 0);
  onTestFinished(() => void server.close());
  return {
    connect: `process.getBuiltinModule('node:net').connect(${port}, '127.0.0.1')`,
    connections: () => connections,
    next: async (): Promise<Thread> => {
      const [socket]: Socket[] = await once(server, 'connection');
      return {
        send: () => void socket?.write('go on'),
        ended: new Promise((resolve) => socket?.on('close', resolve)),
      };
    },
  };
};

/** Code of a handler that returns `value`. */
export const returning = (value: string): string => `exports.handler = async () => ${JSON.stringify(value)}`;
