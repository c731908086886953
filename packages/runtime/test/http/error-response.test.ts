import { expectInContract } from '@lambda-service/testing/data';
import { lambdaContext } from '@lambda-service/testing/events';
import middy from '@middy/core';
import { expect, test, vi } from 'vitest';
import { type ErrorTable, errorResponse, type HttpEvent } from '../../http/error-response.ts';
import { CatalogueError, errors } from '../../http/errors.ts';
import { type OperationContext, storeTime } from '../../http/store-time.ts';

class Taken extends Error {
  override readonly name = 'Taken';
}

class Busy extends Error {}

/** Returns the response of a function whose handler throws `thrown`, and what the function logs. */
const responseTo = async (thrown: unknown, event: unknown = {}, storeCalls: OperationContext['storeCalls'] = []) => {
  const logged: unknown[] = [];
  for (const level of ['info', 'warn', 'error'] as const) {
    vi.spyOn(console, level).mockImplementation((line) => {
      logged.push([level, line]);
    });
  }
  const handler = middy()
    .use(errorResponse({ 41301: [[Taken]], 50301: [[Busy]] }))
    .handler(() => {
      throw thrown;
    });
  const { statusCode, headers, body } = await handler(event as HttpEvent, { ...lambdaContext, storeCalls });
  expectInContract(statusCode, headers['content-type'], body);
  return { status: statusCode, headers, error: JSON.parse(body).error, logged };
};

test.each([undefined, 'text', {}])('errorResponse responds with the error 50001 if %j is thrown', async (thrown) => {
  expect(await responseTo(thrown)).toMatchObject({
    status: 500,
    error: 50001,
    logged: [['error', { outcome: 'failed', error: 50001, cause: { name: typeof thrown } }]],
  });
});

test('errorResponse maps an error class and its subclasses to one error of the catalogue', async () => {
  class TakenTwice extends Taken {}
  expect(await responseTo(new TakenTwice())).toMatchObject({ status: 413, error: 41301 });
  expect(await responseTo(new Error('Taken'))).toMatchObject({ status: 500, error: 50001 });
});

test('errorResponse logs at most three levels of causes, even if the causes lead back to the error itself', async () => {
  const first = new Error('first');
  first.cause = new Error('second', { cause: first });
  const { logged } = await responseTo(first);
  expect(JSON.stringify(logged).match(/"name"/g)?.length, 'errors in the log line').toBe(4);
});

test('errorResponse logs the hash of the bundle for a failure, but not for a refused request', async () => {
  vi.stubEnv('BUNDLE_SHA256', 'hash');
  expect((await responseTo(new Error('fault'))).logged).toMatchObject([['error', { bundle: 'hash' }]]);
  expect((await responseTo(new CatalogueError(errors.notJson))).logged).toEqual([
    ['info', { outcome: 'refused', error: errors.notJson.error, reason: errors.notJson.message }],
  ]);
});

test("errorResponse logs the gateway's request id if the event has one", async () => {
  const requestContext = { requestId: 'JKJaXmPLvHcESHA=' };
  const line = { gatewayRequestId: 'JKJaXmPLvHcESHA=' };
  expect((await responseTo(new Taken(), { requestContext })).logged).toEqual([
    ['info', { outcome: 'refused', error: 41301, reason: errors.tooLarge.message, ...line }],
  ]);
  expect((await responseTo(new Error(), { requestContext })).logged).toMatchObject([['error', line]]);
  for (const event of [undefined, null, {}]) expect((await responseTo(new Taken(), event)).status).toBe(413);
});

test('errorResponse logs how long the store took, if the request called the store', async () => {
  const call = { startedAt: 1_000, endedAt: 1_007, attempts: 1 };
  const store = { milliseconds: 7, attempts: 1 };
  expect((await responseTo(new Busy(), {}, [call])).logged).toMatchObject([['warn', { store }]]);
  expect(JSON.stringify((await responseTo(new Taken())).logged)).not.toContain('store');
});

test('storeTime returns undefined if the store was not called', () => {
  expect(storeTime()).toBeUndefined();
  expect(storeTime([])).toBeUndefined();
});

test.each([
  ['one after the other', 1_008, 1_011],
  ['at the same time', 1_001, 1_002],
])('for two calls %s, storeTime counts all attempts, and the time until both have ended', (_, startedAt, endedAt) => {
  const calls = [
    { startedAt: 1_000.3, endedAt: 1_007.1, attempts: 1 },
    { startedAt, endedAt, attempts: 3 },
  ];
  expect(storeTime(calls)).toEqual({ milliseconds: Math.max(7, endedAt - 1_000), attempts: 4 });
});

test('if a call has not ended, storeTime measures until now, and leaves out the number of attempts', () => {
  vi.spyOn(performance, 'now').mockReturnValue(2_000);
  const calls = [{ startedAt: 1_000, endedAt: 1_007, attempts: 1 }, { startedAt: 1_500 }];
  expect(storeTime(calls)).toEqual({ milliseconds: 1_000, attempts: undefined });
});

const id = 'A1'.repeat(26);

test.each<[field: string, good: string[], bad: unknown[]]>([
  [
    'name',
    ['Error', 'TypeError', 'StoreUnavailable', 'ThrottlingException', 'InternalFailure', 'RequestLimitExceeded'],
    ['Ann', 'errorError', 'a TypeError', 'TypeError of Ann', `A${'a'.repeat(61)}Error`, ['Error']],
  ],
  ['code', ['ECONNREFUSED', 'HPE_INVALID_VERSION', 'E2BIG'], ['Ann', 'a ECONN', 'ECONN of Ann', '7E', 7, ['EPIPE']]],
  ['requestId', [id], [`${id}A`, `a${id}`, id.toLowerCase(), [id]]],
])('errorResponse logs the %s of an error only if that value has the expected form', async (field, good, bad) => {
  const loggedOf = async (value: unknown): Promise<unknown> => {
    const own = field === 'requestId' ? { $metadata: { requestId: value } } : { [field]: value };
    const { logged } = await responseTo(Object.assign(new Error('no'), own));
    const [[, { cause }]] = logged as [[string, { cause: Record<string, unknown> & { $metadata?: object } }]];
    return { ...cause, ...cause.$metadata }[field];
  };
  expect(await Promise.all(good.map(loggedOf))).toEqual(good);
  expect(await Promise.all(bad.map(loggedOf))).toEqual(bad.map(() => undefined));
});

test('errorResponse logs the status, the number of attempts and the request id of an AWS SDK error', async () => {
  const $metadata = { httpStatusCode: 400, attempts: 2, requestId: id };
  const { logged } = await responseTo(Object.assign(new Error('no'), { $metadata: { ...$metadata, cfId: 'x' } }));
  expect(logged).toEqual([['error', expect.objectContaining({ cause: expect.objectContaining({ $metadata }) })]]);
});

test('errorResponse logs the reason for the log, not the detail for the client', async () => {
  const loggedOf = async (...[detail, reason]: string[]) =>
    (await responseTo(new CatalogueError(errors.notValid, detail, reason))).logged;
  expect(await loggedOf('secret is not allowed', '* is not allowed')).toMatchObject([
    ['info', { reason: '* is not allowed' }],
  ]);
  expect(await loggedOf('secret is not allowed')).toMatchObject([['info', { reason: errors.notValid.message }]]);
});

const table = 'arn:aws:dynamodb:eu-west-1:123456789012:table/Store-Things1';
const deniedAs = (action: string, resource: string): string =>
  `User: arn:aws:sts::123456789012:assumed-role/a/b is not authorized to perform: ${action} on resource: ${resource} because no identity-based policy allows the ${action} action`;

test.each<[message: string, name: string, denied: string | undefined]>([
  [deniedAs('dynamodb:PutItem', table), 'AccessDeniedException', `dynamodb:PutItem on resource: ${table}`],
  [
    deniedAs('dynamodb:PutItem', table).replace(/ because.*/, ''),
    'AccessDeniedException',
    `dynamodb:PutItem on resource: ${table}`,
  ],
  [deniedAs('dynamodb:PutItem', `${table}:secret`), 'AccessDeniedException', undefined],
  [deniedAs('dynamodb:PutItem', table), 'ValidationException', undefined],
  [deniedAs('s3:PutObject', 'arn:aws:s3:::bucket/secret'), 'AccessDeniedException', undefined],
  [`secret ${deniedAs('dynamodb:PutItem', table)}`, 'AccessDeniedException', undefined],
  ['', 'AccessDeniedException', undefined],
])('errorResponse logs of the message %j of a %s only the denied action and table', async (message, name, denied) => {
  const { logged } = await responseTo(Object.assign(new Error(message), { name, $response: {} }));
  const [[, { cause }]] = logged as [[string, { cause: object }]];
  expect(cause).toEqual({ name, ...(denied !== undefined && { denied }) });
});

test('errorResponse logs the stack of an error, but no text that came over the network', async () => {
  const quoting = Object.defineProperty(new Error('secret'), '$response', { value: {}, enumerable: false });
  Object.assign(quoting, { name: 'a secret name', code: 'a secret code' });
  Object.assign(quoting, { $metadata: { requestId: 'a secret id', cfId: 'secret', extendedRequestId: 'secret' } });
  const unparsed = new SyntaxError('"secret" is not valid JSON');
  for (const thrown of [quoting, unparsed]) {
    const { logged } = await responseTo(new Error('ours', { cause: thrown }));
    expect(logged).toMatchObject([['error', { cause: { stack: expect.stringMatching(/^Error: ours\n +at /) } }]]);
    expect(JSON.stringify(logged)).not.toContain('secret');
  }
});

type Shared = 50001 | 50301 | 50302;
/** An operation without a body. */
type Read = { body: undefined; errorCode: Shared | 40401 };
const row = [Busy, 'no desk has this id'] as const;

test('an error table does not compile unless it has exactly the numbers of the contract that are not shared', () => {
  const tables: ErrorTable<Read>[] = [
    { 40401: [row] },
    { 40401: [row], 50301: [[Busy]] },
    // @ts-expect-error A number of the contract is missing.
    {},
    // @ts-expect-error The contract does not have this number.
    { 40401: [row], 40901: [row] },
    // @ts-expect-error The message of a number that is not shared is missing.
    { 40401: [[Busy]] },
  ];
  // @ts-expect-error The contract lacks a number that every operation can answer with.
  tables.push({ 40401: [row] } satisfies ErrorTable<{ body: undefined; errorCode: 40401 | 50001 }>);
  // @ts-expect-error The contract lacks the numbers that a body can cause.
  tables.push({ 40401: [row] } satisfies ErrorTable<{ body: object; errorCode: Shared | 40401 }>);
  expect(tables).toHaveLength(7);
});
