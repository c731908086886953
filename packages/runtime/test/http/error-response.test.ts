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

class TakenTwice extends Taken {}

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

const refused = (reason: string) => ['info', { outcome: 'refused', reason }] as const;
const failed = (name: string, level = 'error') =>
  [level, { outcome: 'failed', cause: expect.objectContaining({ name }), bundle: 'hash' }] as const;
const { tooLarge, notValid } = errors;

test.each<[thrown: unknown, error: number, line: readonly [level: string, fields: object]]>([
  [undefined, 50001, failed('undefined')],
  ['text', 50001, failed('string')],
  [{}, 50001, failed('object')],
  [new Error('Taken'), 50001, failed('Error')],
  [new Busy(), 50301, failed('Error', 'warn')],
  [new Taken(), 41301, refused(tooLarge.message)],
  [new TakenTwice(), 41301, refused(tooLarge.message)],
  [new CatalogueError(notValid), 40002, refused(notValid.message)],
  // The detail is for the client, and the reason for the log.
  [new CatalogueError(notValid, 'secret'), 40002, refused(notValid.message)],
  [new CatalogueError(notValid, 'secret', '*'), 40002, refused('*')],
])('errorResponse turns %o into the error %i, and logs one line', async (thrown, error, [level, fields]) => {
  vi.stubEnv('BUNDLE_SHA256', 'hash');
  const response = { status: Math.floor(error / 100), error };
  for (const event of [null, {}])
    expect(await responseTo(thrown, event)).toEqual(
      expect.objectContaining({ ...response, logged: [[level, { error, ...fields }]] }),
    );
  const requestContext = { requestId: 'JKJaXmPLvHcESHA=' };
  const { logged } = await responseTo(thrown, { requestContext }, [{ startedAt: 1_000, endedAt: 1_007, attempts: 1 }]);
  const ofRequest = { store: { milliseconds: 7, attempts: 1 }, gatewayRequestId: 'JKJaXmPLvHcESHA=' };
  expect(logged).toEqual([[level, { error, ...fields, ...ofRequest }]]);
});

test('errorResponse logs at most three levels of causes, even if the causes lead back to the error itself', async () => {
  const first = new Error('first');
  first.cause = new Error('second', { cause: first });
  const { logged } = await responseTo(first);
  expect(JSON.stringify(logged).match(/"name"/g)?.length, 'errors in the log line').toBe(4);
});

const firstCall = { startedAt: 1_000.3, endedAt: 1_007.1, attempts: 1 };

test.each<[what: string, calls: OperationContext['storeCalls'] | undefined, time: ReturnType<typeof storeTime>]>([
  ['is undefined without a list of calls', undefined, undefined],
  ['is undefined if the store was not called', [], undefined],
  [
    'of two calls, one after the other, has all attempts, and lasts until both have ended',
    [firstCall, { startedAt: 1_008, endedAt: 1_011, attempts: 3 }],
    { milliseconds: 11, attempts: 4 },
  ],
  [
    'of two calls at the same time lasts until both have ended',
    [firstCall, { startedAt: 1_001, endedAt: 1_002, attempts: 3 }],
    { milliseconds: 7, attempts: 4 },
  ],
  [
    'of a call that has not ended lasts until now, without a number of attempts',
    [firstCall, { startedAt: 1_500 }],
    { milliseconds: 1_000, attempts: undefined },
  ],
])('storeTime %s', (_, calls, time) => {
  vi.spyOn(performance, 'now').mockReturnValue(2_000);
  expect(storeTime(calls)).toEqual(time);
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
