import { isUtf8 } from 'node:buffer';
import type { MiddlewareObj } from '@middy/core';
import httpJsonBodyParser from '@middy/http-json-body-parser';
import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import { mayRound, parseExactly } from '../exact-json.ts';
import { CatalogueError, errors } from './errors.ts';

/** An item of 400 KB fits, even with JSON escapes. Parsing such a body takes at most 0.4 s of CPU time. */
export const maxBodyBytes = 1024 * 1024;

/** RFC 6839, RFC 9110 section 8.3.1. */
const jsonContentType = /^application\/(?:[\w!#$&^.+-]+\+)?json[ \t]*(?:;|$)/i;

/** RFC 9110 section 8.4.1. */
const identityCoding = /^\s*(?:identity\s*(?:,\s*identity\s*)*)?$/i;

const ambiguousReplacement =
  'the request body has U+FFFD or bytes that are not UTF-8; if U+FFFD is meant, write it as \\ufffd';

/** JSON.parse's own limit is the size of the stack, which differs between threads. */
const maxDepth = 2_000;

/** The body is text until `jsonBody` has run, and then any JSON value. */
type HttpEvent = Omit<APIGatewayProxyEventV2, 'body'> & { body?: unknown };

/**
 * Replaces the body's text with the JSON value in it. Integers that a JavaScript number might round become bigints.
 * @throws CatalogueError notJsonType, encoded, tooLarge or notJson
 * @example .use(jsonBody())
 */
export const jsonBody = (): MiddlewareObj<HttpEvent> => {
  const parser = httpJsonBodyParser({ disableContentTypeCheck: true });
  return {
    before: async (request) => {
      const { event } = request;
      // Check for a missing body before the content type, because a request without a body needs no Content-Type.
      if (!event.body) throw new CatalogueError(errors.notJson);
      if (!jsonContentType.test(event.headers?.['content-type'] ?? '')) throw new CatalogueError(errors.notJsonType);
      if (!identityCoding.test(event.headers?.['content-encoding'] ?? '')) throw new CatalogueError(errors.encoded);
      const text = decode(event);
      if (depthOf(text) > maxDepth) throw new CatalogueError(errors.notJson);
      try {
        // The library's parser passes no source text to a reviver, so it cannot keep long integers exact. Never parse
        // with both: each can take 0.4 s of CPU time.
        const decoded = Object.assign(event, { body: text, isBase64Encoded: false });
        if (mayRound.test(text)) event.body = parseExactly(text);
        else await parser.before?.({ ...request, event: decoded });
      } catch (error) {
        // Drop the parser's error: it contains the body, which must not be logged.
        throw new CatalogueError(errors.notJson, withPlace(error));
      }
    },
  };
};

/** The end of JSON.parse's message if it says where. If it quotes the body instead, it ends with `is not valid JSON`. */
const placeInJson = / JSON at position \d+ \(line (\d+) column (\d+)\)$/;

/** Takes only the two numbers, because the rest of the parser's message may be the client's. */
const withPlace = (error: unknown): string | undefined => {
  const messages = [error, Object(error).cause].map((each) => String(Object(each).message));
  const [, line, column] = messages.map((each) => placeInJson.exec(each)).find((found) => found !== null) ?? [];
  return line && `line ${line}, column ${column} of the request body is not JSON`;
};

/** API Gateway encodes a body in base64 unless the gateway recognizes its content type as text. */
const decode = ({ body, isBase64Encoded }: HttpEvent): string => {
  if (typeof body !== 'string') throw new CatalogueError(errors.notJson);
  const bytes = Buffer.from(body, isBase64Encoded ? 'base64' : 'utf8');
  if (bytes.length > maxBodyBytes) throw new CatalogueError(errors.tooLarge);
  if (isBase64Encoded) {
    if (!isUtf8(bytes)) throw new CatalogueError(errors.notJson);
    return bytes.toString('utf8');
  }
  // API Gateway replaces bytes that are not UTF-8 with U+FFFD.
  if (body.includes('\ufffd')) throw new CatalogueError(errors.notJson, ambiguousReplacement, ambiguousReplacement);
  return body;
};

const depthOf = (json: string): number => {
  let [depth, deepest, inString] = [0, 0, false];
  for (let index = 0; index < json.length; index += 1) {
    const character = json[index];
    if (character === '"') inString = !inString;
    else if (character === '\\') index += 1;
    else if (inString) continue;
    else if (character === '[' || character === '{') deepest = Math.max(deepest, ++depth);
    else if (character === ']' || character === '}') depth -= 1;
  }
  return deepest;
};
