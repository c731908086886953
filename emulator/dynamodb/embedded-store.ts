import { EventEmitter } from 'node:events';
import { existsSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import path from 'node:path';
import { crc32 } from 'node:zlib';
import dynalite from 'dynalite';
import { listen } from '../listen.ts';
import { FolderError, isLocked, mustBeEmpty, openDatabase, reason } from './data-folder.ts';
import type { Guard, Refusal } from './guard.ts';

/** A DynamoDB on 127.0.0.1. */
export type EmbeddedStore = { endpoint: string; close: () => Promise<void> };

/** Starts dynalite with its data in `folder`, behind a guard that sees each request first. @throws FolderError */
export const startEmbeddedStore = async (folder: string, guard: Guard): Promise<EmbeddedStore> => {
  if (!existsSync(path.join(folder, 'CURRENT'))) await mustBeEmpty(folder);
  try {
    // dynalite does not catch the error if its database cannot be opened: the process would end at a later request.
    const close = await openDatabase(folder);
    await close();
  } catch (error) {
    const advice = isLocked(error)
      ? 'is in use. Stop the process that uses it, or choose another folder.'
      : `cannot be read: ${reason(error)}. Delete that folder and its data, or choose another folder.`;
    throw new FolderError(`The data in ${folder} ${advice}`, { cause: error });
  }
  const server = dynalite({ path: folder, createTableMs: 0 });
  const [answer] = server.listeners('request') as [Answer];
  server.removeAllListeners('request').on('request', guarded(guard, answer));
  return {
    endpoint: `http://127.0.0.1:${await listen(server, 0)}`,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
};

/** dynalite's listener uses only these parts of a request, and its events `data` and `end`. */
type ReadRequest = EventEmitter & Pick<IncomingMessage, 'method' | 'url' | 'headers'>;
type Answer = (request: ReadRequest, response: ServerResponse) => void;

/**
 * Reads the whole request, and hands it to `answer` unless the guard refuses it. A request that breaks off is dropped;
 * dynalite itself would throw an error that nobody can catch.
 */
const guarded =
  (guard: Guard, answer: Answer) =>
  (request: IncomingMessage, response: ServerResponse): void => {
    const { method, url, headers } = request;
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks);
      const refusal = guard(headers, body.toString());
      if (refusal !== undefined) return refuse(response, refusal);
      const replayed = Object.assign(new EventEmitter(), { method, url, headers });
      answer(replayed, response);
      replayed.emit('data', body);
      replayed.emit('end');
    });
  };

/** SDKs for other languages check the checksum. */
const refuse = (response: ServerResponse, refusal: Refusal): void => {
  const body = JSON.stringify(refusal);
  response.writeHead(400, { 'content-type': 'application/x-amz-json-1.0', 'x-amz-crc32': crc32(body) });
  response.end(body);
};
