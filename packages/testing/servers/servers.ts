import type { Server } from 'node:http';
import { closeServer, listen } from 'http-api-emulator/servers';
import { onTestFinished } from 'vitest';

/**
 * Makes a server keep idle connections open. Otherwise, if a busy machine blocks the event loop for five seconds, the
 * server closes a connection on which the same process has just sent its next request (ECONNRESET).
 */
export const keepingIdle = (server: Server): Server => Object.assign(server, { keepAliveTimeout: 0 });

/** Starts a server on a free port of 127.0.0.1 and stops it when the test ends. @returns the port */
export const startServer = async (server: Server): Promise<number> => {
  const port = await listen(keepingIdle(server), 0);
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return port;
};

/**
 * For a test that starts the token issuer twice: another program may take the port between, so the test is repeated.
 */
export const portMayBeTaken = { retry: 2 };

/** Closes the server while `during` runs, so that `port` refuses connections. Then makes the server listen again. */
export const closedDuring = async <T>(server: Server, port: number, during: () => Promise<T>): Promise<T> => {
  await closeServer(server);
  try {
    return await during();
  } finally {
    await listen(server, port);
  }
};
