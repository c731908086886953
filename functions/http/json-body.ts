import { isUtf8 } from 'node:buffer';
import type { MiddlewareObj } from '@middy/core';
import httpJsonBodyParser from '@middy/http-json-body-parser';
import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import { CatalogueError, errors } from './errors.ts';
import { mayRound, parseExactly } from './exact-json.ts';

/** Room for the largest plant (400 KB) and its escapes. The worst body of this size takes 0.4 s of a core. */
const maxBodyBytes = 1024 * 1024;

/** RFC 6839 and RFC 9110 section 8.3.1: in all cases, with a `+json` suffix, parameters, optional white space. */
const jsonContentType = /^application\/(?:[\w!#$&^.+-]+\+)?json[ \t]*(?:;|$)/i;

/** RFC 9110 section 8.4.1: no coding at all. */
const identityCoding = /^\s*(?:identity\s*(?:,\s*identity\s*)*)?$/i;

const ambiguousReplacement =
  'the request body has bytes that are not UTF-8; if U+FFFD is meant, send a Content-Length or write \\ufffd';

/** Levels of nesting. The parser's own limit is the stack, which differs from thread to thread. */
const maxDepth = 2_000;

/** An event of API Gateway's payload 2.0 whose body may be anything: what was sent, before; a JSON value, after. */
type HttpEvent = Omit<APIGatewayProxyEventV2, 'body'> & { body?: unknown };

/**
 * Replaces the event's raw body by the JSON value in it. An integer that a double might round is a bigint.
 * @throws CatalogueError notJsonType, encoded, tooLarge or notJson
 */
export const jsonBody = (): MiddlewareObj<HttpEvent> => {
  const parser = httpJsonBodyParser({ disableContentTypeCheck: true });
  return {
    before: async (request) => {
      const { event } = request;
      // Before the content type: where there is no content, it has no type.
      if (!event.body) throw new CatalogueError(errors.notJson);
      if (!jsonContentType.test(event.headers?.['content-type'] ?? '')) throw new CatalogueError(errors.notJsonType);
      if (!identityCoding.test(event.headers?.['content-encoding'] ?? '')) throw new CatalogueError(errors.encoded);
      const text = decode(event);
      if (depthOf(text) > maxDepth) throw new CatalogueError(errors.notJson);
      try {
        // One or the other: the worst body keeps either of them busy for 0.4 s.
        if (mayRound.test(text)) event.body = parseExactly(text);
        else {
          const parsed = { ...request, event: { ...event, body: text, isBase64Encoded: false } };
          await parser.before?.(parsed);
          event.body = parsed.event.body;
        }
      } catch {
        // The parser's error carries the body: it ends here, so that no log can show it.
        throw new CatalogueError(errors.notJson);
      }
    },
  };
};

/** The body as the client sent it. API Gateway hands over in base64 what it does not take for text. */
const decode = ({ headers, body, isBase64Encoded }: HttpEvent): string => {
  if (typeof body !== 'string') throw new CatalogueError(errors.notJson);
  const bytes = Buffer.from(body, isBase64Encoded ? 'base64' : 'utf8');
  if (bytes.length > maxBodyBytes) throw new CatalogueError(errors.tooLarge);
  if (isBase64Encoded) {
    if (!isUtf8(bytes)) throw new CatalogueError(errors.notJson);
    return bytes.toString('utf8');
  }
  // In text, API Gateway puts U+FFFD for bytes that are not UTF-8. Only the length tells it from one that was sent.
  if (body.includes('\ufffd') && Number(headers?.['content-length']) !== bytes.length) {
    throw new CatalogueError(errors.notJson, ambiguousReplacement);
  }
  return body;
};

/** How deep arrays and objects are nested in a JSON text. */
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
