import { EventEmitter } from 'node:events';
import { existsSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import path from 'node:path';
import { crc32 } from 'node:zlib';
import { listen, otherHostOf, readBody } from '../servers.ts';
import { FolderError, isCorrupt, isLocked, mustBeEmpty, openDatabase, reason } from './data-folder.ts';
import { handleRequest, makeDynalite, type RequestListener } from './dynalite-faults.ts';
import type { Guard, Refusal } from './guard.ts';

/** A running dynalite (a DynamoDB emulator) that listens on 127.0.0.1. */
type EmbeddedStore = { endpoint: string; close: () => Promise<void> };

/**
 * Starts dynalite with its data in `folder`, behind a guard that may refuse requests. At the first fault of its database,
 * such as a full disk, it stops without another response, and throws a FolderError that no code can catch: the process
 * must end. What it has acknowledged before is kept.
 * @throws FolderError
 */
export const startEmbeddedStore = async (folder: string, guard: Guard): Promise<EmbeddedStore> => {
  if (!existsSync(path.join(folder, 'CURRENT'))) await mustBeEmpty(folder);
  try {
    // Open the database once here. Otherwise, if dynalite could not open it, a later request would end the process with
    // an uncaught error.
    const close = await openDatabase(folder);
    await close();
  } catch (error) {
    throw unusable(folder, error);
  }
  const { server, listener, fault } = makeDynalite(folder);
  // Disable Node's time-outs, because a debugger may pause a function in the middle of its request to the store.
  Object.assign(server, { headersTimeout: 0, requestTimeout: 0, keepAliveTimeout: 0 });
  server.on('request', guarded(guard, listener));
  void fault.then((error) => {
    // Nothing may be answered any more, because LevelDB would lose at its next start what it writes after a fault.
    server.closeAllConnections();
    server.close();
    process.nextTick(() => {
      throw unusable(folder, error);
    });
  });
  return {
    endpoint: `http://127.0.0.1:${await listen(server, 0)}`,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
};

const unusable = (folder: string, cause: unknown): FolderError => {
  const advice = isCorrupt(cause)
    ? 'Delete that folder and its data'
    : 'Check its permissions and the space on its disk';
  const failure = isLocked(cause)
    ? 'is in use. Stop the process that uses it'
    : `cannot be used: ${reason(cause)}. ${advice}`;
  return new FolderError(`The data in ${folder} ${failure}, or choose another folder.`, { cause });
};

/**
 * Reads each request to its end, and passes it on to `listener` unless the guard refuses it. Drops a request that the
 * client breaks off, because dynalite would throw an error that no code can catch.
 */
const guarded =
  (guard: Guard, listener: RequestListener) =>
  async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { method, url, headers } = request;
    const checked = otherHostOf(request) === undefined ? guard(headers) : otherHost(request.socket.localPort);
    // Do not keep what strangers send. Node.js discards the body after the response.
    if (typeof checked !== 'function') return respond(response, 400, checked);
    const body = await readBody(request, maxBytes).catch(() => 'broken off' as const);
    if (body === 'broken off') return;
    if (body === undefined) {
      response.writeHead(413).end();
      request.resume();
      return;
    }
    const handle = () => {
      const refusal = checked(body.toString());
      if (refusal !== undefined) return respond(response, 400, refusal);
      const replayed = Object.assign(new EventEmitter(), { method, url, headers });
      listener(replayed, response);
      replayed.emit('data', body);
      replayed.emit('end');
    };
    const fail = (error: unknown) => {
      if (!response.headersSent) respond(response, 500, internalError(error));
    };
    handleRequest(handle, fail);
  };

/** DynamoDB's limit for a request, and dynalite's. */
const maxBytes = 16 * 1024 * 1024;

const otherHost = (port: number | undefined): Refusal => ({
  __type: 'com.amazon.coral.service#AccessDeniedException',
  Message: `The store is at http://127.0.0.1:${port}, and refuses requests to another host.`,
});

const internalError = (error: unknown) => ({
  __type: 'com.amazonaws.dynamodb.v20120810#InternalServerError',
  message: `The embedded store (dynalite) failed at this request: ${reason(error)}`,
});

/** Sends an error. Some SDKs (not the one for JavaScript) check its header x-amz-crc32. */
const respond = (response: ServerResponse, status: number, error: object): void => {
  const body = JSON.stringify(error);
  response.writeHead(status, {
    'content-type': 'application/x-amz-json-1.0',
    // dynalite may have set the length of another body before it failed.
    'content-length': Buffer.byteLength(body),
    'x-amz-crc32': crc32(body),
  });
  response.end(body);
};
