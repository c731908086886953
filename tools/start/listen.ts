import { once } from 'node:events';
import type { Server as HttpServer } from 'node:http';
import type { AddressInfo, Server } from 'node:net';

/**
 * Starts `server` on 127.0.0.1; port 0 means any free port.
 * @returns the port
 * @throws Error with the system's error code, such as EADDRINUSE
 */
export const listen = async (server: Server, port: number): Promise<number> => {
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
};

/** Closes an HTTP server and all its connections at once, even if requests are in progress. */
export const closeServer = (server: HttpServer): Promise<void> => {
  server.closeAllConnections();
  return new Promise((resolve) => server.close(() => resolve()));
};
