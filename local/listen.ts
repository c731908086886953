import { once } from 'node:events';
import type { Server as HttpServer } from 'node:http';
import type { AddressInfo, Server } from 'node:net';

/** Reads PORT; 0 means any free port. @throws Error with a one-sentence message for the user */
export const readPort = (): number => {
  const text = process.env['PORT'] || '3000';
  const port = Number(text);
  if (!/^\d+$/.test(text) || port > 65_535) {
    throw new Error(`PORT is ${JSON.stringify(text)}, but it must be a number from 0 (any free port) to 65535.`);
  }
  return port;
};

/** Starts `server` on 127.0.0.1; port 0 means any free port. @returns the port @throws Error with the system's code */
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
