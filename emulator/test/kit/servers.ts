import type { Server } from 'node:http';
import { onTestFinished } from 'vitest';
import { listen } from '../../listen.ts';

/** Starts a server on a free port of 127.0.0.1 and stops it when the test ends. @returns the port */
export const startServer = async (server: Server): Promise<number> => {
  const port = await listen(server, 0);
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return port;
};
