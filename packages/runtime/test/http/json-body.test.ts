import { event, lambdaContext } from '@lambda-service/testing/events';
import middy from '@middy/core';
import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import { expect, test } from 'vitest';
import { CatalogueError, errors } from '../../http/errors.ts';
import { jsonBody } from '../../http/json-body.ts';

/** Runs jsonBody. @returns the error, with `message` for the client and `reason` for the log, if it refuses the body */
const refusalOf = async (body: string): Promise<CatalogueError | undefined> => {
  const handler = middy<APIGatewayProxyEventV2, unknown>()
    .use(jsonBody())
    .handler(() => undefined);
  const error: unknown = await handler(event({ routeKey: 'POST /items', body }), lambdaContext).catch((error) => error);
  return error instanceof CatalogueError ? error : undefined;
};

const { message: general } = errors.notJson;

test.each<[body: string, message: string]>([
  ['{"a":1,\n "b":2,}', 'line 2, column 8 of the request body is not JSON'],
  // This body has a number that must stay exact, so another parser reads it.
  ['{"a":9007199254740993,\n "b":2,}', 'line 2, column 8 of the request body is not JSON'],
  ['{"a":1}}', 'line 1, column 8 of the request body is not JSON'],
  // JSON.parse does not say where these are wrong.
  ['{"a":tru', general],
  ['{"a":secret}', general],
  ['[x in JSON at position 7 (line 7 column 7)', general],
])('for the body %j, jsonBody says: %s', async (body, message) => {
  expect((await refusalOf(body))?.message).toBe(message);
});

test('wherever a body is wrong, neither the message nor the log has more of it than a line and a column', async () => {
  const body = '{ "secret": [1.5, true, "secret\\n"],\n  "more": { "secret": null } }';
  const broken = Array.from(body, (_, at) => [
    body.slice(0, at),
    ...['secret', '"', '\n', ',', '}', '\\', '7'].map((wrong) => body.slice(0, at) + wrong + body.slice(at)),
  ]).flat();
  const refusals = (await Promise.all(broken.map(refusalOf))).filter((each) => each !== undefined);
  expect(refusals.length).toBeGreaterThan(300);
  const withPlace = /^line [12], column \d\d? of the request body is not JSON$/;
  for (const { message, reason } of refusals) {
    if (message !== general) expect(message).toMatch(withPlace);
    expect(reason).toBe(general);
  }
});
