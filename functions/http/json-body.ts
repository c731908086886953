import { isUtf8 } from 'node:buffer';
import type { MiddlewareObj } from '@middy/core';
import httpJsonBodyParser from '@middy/http-json-body-parser';
import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import { CatalogueError, errors } from './errors.ts';

/** Room for the largest plant (400 KB) and its escapes. The worst body of this size takes 1 to 1.6 s of a core. */
const maxBodyBytes = 1024 * 1024;

/** RFC 6839 and RFC 9110 section 8.3.1: in all cases, with a `+json` suffix, parameters, optional white space. */
const jsonContentType = /^application\/(?:[\w!#$&^.+-]+\+)?json[ \t]*(?:;|$)/i;

/** Text in which a double may not hold a number exactly. Matching a string's content too only costs a second parse. */
const mayRound = /\d[.eE]|\d{16}/;

/** An event of API Gateway's payload 2.0 whose body may be anything: what was sent, before; a JSON value, after. */
type HttpEvent = Omit<APIGatewayProxyEventV2, 'body'> & { body?: unknown };

/**
 * Replaces the event's raw body by the JSON value in it. Where a double might round a number, all integers are bigints.
 * @throws CatalogueError notJsonType, tooLarge or notJson
 */
export const jsonBody = (): MiddlewareObj<HttpEvent> => {
  const parser = httpJsonBodyParser({ disableContentTypeCheck: true });
  return {
    before: async (request) => {
      const { event } = request;
      // Before the content type: where there is no content, it has no type.
      if (!event.body) throw new CatalogueError(errors.notJson);
      if (!jsonContentType.test(event.headers?.['content-type'] ?? '')) throw new CatalogueError(errors.notJsonType);
      const text = decode(event);
      const parsed = { ...request, event: { ...event, body: text, isBase64Encoded: false } };
      try {
        await parser.before?.(parsed);
        event.body = mayRound.test(text) ? JSON.parse(text, exactNumber) : parsed.event.body;
      } catch {
        // The parser's error carries the body: it ends here, so that no log can show it.
        throw new CatalogueError(errors.notJson);
      }
    },
  };
};

/** The body as the client sent it. API Gateway hands over in base64 what it does not take for text. */
const decode = ({ body, isBase64Encoded }: HttpEvent): string => {
  if (typeof body !== 'string') throw new CatalogueError(errors.notJson);
  const bytes = isBase64Encoded ? Buffer.from(body, 'base64') : undefined;
  if ((bytes?.length ?? Buffer.byteLength(body)) > maxBodyBytes) throw new CatalogueError(errors.tooLarge);
  if (bytes === undefined) return body;
  if (!isUtf8(bytes)) throw new CatalogueError(errors.notJson);
  return bytes.toString('utf8');
};

/**
 * A reviver that keeps integers exact, judged by the digits in the text (`source`), not by the double made of them.
 * A number that only rounding made whole (1.0000000000000000001) becomes NaN, which no integer check accepts.
 */
const exactNumber = (_key: string, value: unknown, { source }: { source?: string } = {}): unknown => {
  if (typeof value !== 'number' || source === undefined) return value;
  return integerOf(source) ?? (Number.isInteger(value) ? Number.NaN : value);
};

/**
 * The integer that a JSON number literal writes, whatever the spelling (`10`, `1e1`, `10.0`); undefined where it is no
 * integer or has more than 19 digits, the most an int64 has. Takes time in the length of the literal, not in its value.
 */
const integerOf = (literal: string): bigint | undefined => {
  const {
    sign,
    whole = '',
    fraction = '',
    exponent = '0',
  } = /^(?<sign>-?)(?<whole>\d+)(?:\.(?<fraction>\d+))?(?:[eE](?<exponent>[+-]?\d+))?$/.exec(literal)?.groups ?? {};
  const digits = whole + fraction;
  let first = 0;
  while (digits[first] === '0') first += 1;
  let end = digits.length;
  while (end > first && digits[end - 1] === '0') end -= 1;
  if (first === end) return 0n;
  const trailingZeros = Number(exponent) - fraction.length + (digits.length - end);
  if (trailingZeros < 0 || end - first + trailingZeros > 19) return undefined;
  return BigInt(`${sign}${digits.slice(first, end)}${'0'.repeat(trailingZeros)}`);
};
