/** What the servers on this machine share: the gateway, the embedded store, and those of other programs here. */
import { once } from 'node:events';
import type { Server as HttpServer, IncomingMessage } from 'node:http';
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

/** Thrown if a port cannot be used. The message is for the user, and advises choosing another port. */
export class PortError extends Error {
  override readonly name = 'PortError';
}

/** Does what `listen` does, for a port that the user has chosen. @throws PortError */
export const listenOnChosen = (server: Server, port: number): Promise<number> =>
  listen(server, port).catch((cause: NodeJS.ErrnoException) => {
    const known: Record<string, string> = {
      EADDRINUSE: 'is in use. Stop the program that uses it, or choose another one',
      EACCES: 'may be used by root only. Choose another one',
    };
    const problem = known[cause.code ?? ''] ?? `cannot be used (${cause.message}). Choose another one`;
    throw new PortError(`Port ${port} ${problem}; 0 means any free port.`, { cause });
  });

/** Closes an HTTP server and all its connections at once, even if requests are in progress. */
export const closeServer = (server: HttpServer): Promise<void> => {
  server.closeAllConnections();
  return new Promise((resolve) => server.close(() => resolve()));
};

/**
 * Returns the host of a request, unless it is this machine. Such a request must be refused: a website could point its
 * name at 127.0.0.1 (DNS rebinding), and its pages could then send requests and read the responses. Any port is
 * accepted, because a dev container may forward another one.
 */
export const otherHostOf = ({ url = '', headersDistinct: { host = [] } }: IncomingMessage): string | undefined => {
  const [, target = []] = /^[a-z]+:\/\/([^/?]*)/i.exec(url) ?? [];
  return [...host, target].flat().find((each) => !/^(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/i.test(each));
};

/**
 * Reads the body of a request. Does not destroy the request's stream, so that a response can still be sent.
 * @returns undefined if the body is larger than `limit` bytes. The rest of it is then unread.
 * @throws Error if the client does not send all of the body
 */
export const readBody = async (request: IncomingMessage, limit: number): Promise<Buffer | undefined> => {
  const read: Buffer[] = [];
  let length = 0;
  const chunks: AsyncIterable<Buffer> = request.iterator({ destroyOnReturn: false });
  for await (const chunk of chunks) {
    length += chunk.length;
    if (length > limit) return undefined;
    read.push(chunk);
  }
  return Buffer.concat(read);
};
