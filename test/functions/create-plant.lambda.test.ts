/** Tests createPlant from its source: every response, and what can be seen only inside the process, such as the log. */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { clockAhead, drip, dynamoDbError, hang, loseResponse, onFirstCall, pass } from '../kit/faulty-store.ts';
import { lambdaContext, proxyEvent } from '../kit/gateway-events.ts';
import { type InProcess, type Invoke, invoker, startInProcess } from '../kit/in-process.ts';
import { newId, testResponses } from '../kit/responses.ts';

let service: InProcess;
beforeAll(async () => {
  service = await startInProcess(() => {
    vi.resetModules();
    return import('../../functions/create-plant.lambda.ts');
  });
});
afterAll(() => service.close());

testResponses(() => service, true);

/** Loads a new instance of the function, with the environment variables in `environment`. */
const load = async (environment: Record<string, string>): Promise<Invoke> => {
  vi.resetModules();
  for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value);
  return invoker(await import('../../functions/create-plant.lambda.ts'));
};

describe('the log of createPlant', () => {
  const outcomeOf = async (body: string): Promise<unknown> => (await service.invoke(proxyEvent(body))).log;
  const info = (outcome: string) => [{ level: 'info', entry: { outcome } }];

  test('distinguishes a new plant from one that was stored before', async () => {
    const id = newId();
    expect(await outcomeOf(`{"id":${id},"name":"Moss"}`)).toMatchObject(info('created'));
    expect(await outcomeOf(`{"id":${id},"name":"Moss"}`)).toMatchObject(info('repeated'));
  });

  test("says 'stored', not 'repeated', if the SDK's retry finds the plant, because the SDK's first attempt may have created it", async () => {
    const [lost, hung] = [newId(), newId()];
    service.faults.fail(lost, onFirstCall(loseResponse));
    expect(await outcomeOf(`{"id":${lost},"name":"Moss"}`)).toMatchObject(info('stored'));
    service.faults.fail(hung, onFirstCall(hang));
    expect(await outcomeOf(`{"id":${hung},"name":"Moss"}`)).toMatchObject(info('created'));
  });

  describe('says how long the calls to the store took, and how many attempts were made,', () => {
    const milliseconds = expect.any(Number);
    const storeTimeOf = async (body: string): Promise<unknown> => Object(await outcomeOf(body))[0].entry.store;

    test('if the third attempt succeeds', async () => {
      const id = newId();
      service.faults.fail(id, (call) => (call.number < 3 ? dynamoDbError(500, 'InternalServerError') : pass)(call));
      expect(await storeTimeOf(`{"id":${id},"name":"Moss"}`)).toEqual({ milliseconds, attempts: 3 });
    });

    test('if the store refuses the plant, as a conflict or as too large', async () => {
      const id = newId();
      await storeTimeOf(`{"id":${id},"name":"Moss"}`);
      expect(await storeTimeOf(`{"id":${id},"name":"Fern"}`)).toEqual({ milliseconds, attempts: 1 });
      const large = `{"id":${newId()},"name":"${'x'.repeat(409_600)}"}`;
      expect(await storeTimeOf(large)).toEqual({ milliseconds, attempts: 1 });
    });

    test('if all attempts fail', async () => {
      const id = newId();
      service.faults.fail(id, dynamoDbError(500, 'InternalServerError'));
      expect(await storeTimeOf(`{"id":${id},"name":"Moss"}`)).toEqual({ milliseconds, attempts: 3 });
    });

    test('but has no number of attempts if the store does not answer by the deadline', async () => {
      const id = newId();
      service.faults.fail(id, drip);
      expect(await storeTimeOf(`{"id":${id},"name":"Moss"}`)).toEqual({ milliseconds: 2_300 });
    });

    test('only if createPlant calls the store', async () => {
      expect(await storeTimeOf('{"name":"Moss"}')).toBeUndefined();
    });
  });

  test('has the cause of an internal error, which the response does not reveal', async () => {
    const broken = await load({ TABLE_NAME: 'no-such-table' });
    const { status, body, log } = await broken(proxyEvent('{"id":30,"name":"secret"}'));
    const answer = { error: 50001, message: 'the service failed; the fault is ours' };
    expect({ status, body }).toEqual({ status: 500, body: answer });
    const cause = {
      name: 'ResourceNotFoundException',
      $metadata: { httpStatusCode: 400, requestId: expect.any(String) },
    };
    expect(log).toMatchObject([{ level: 'error', entry: { outcome: 'failed', error: 50001, cause } }]);
  });

  test('has the cause if the store cannot be reached', async () => {
    const broken = await load({ AWS_ENDPOINT_URL_DYNAMODB: 'http://127.0.0.1:9' });
    const { status, log } = await broken(proxyEvent('{"id":31,"name":"secret"}'));
    expect(status, 'status').toBe(503);
    const stack = expect.stringContaining('DynamoDB did not answer');
    const cause = { name: 'StoreUnavailable', stack, cause: { code: 'ECONNREFUSED' } };
    expect(log).toMatchObject([{ level: 'warn', entry: { outcome: 'failed', error: 50301, cause } }]);
  });
});

test('createPlant sends the header Idempotent-Replayed only if it is certain that the plant was stored before the request', async () => {
  const [id, lost] = [newId(), newId()];
  const create = async (id: string) => {
    const { status, headers } = await service.invoke(proxyEvent(`{"id":${id},"name":"Moss"}`));
    return { status, replayed: headers['idempotent-replayed'] };
  };
  expect(await create(id)).toEqual({ status: 200, replayed: undefined });
  expect(await create(id)).toEqual({ status: 200, replayed: 'true' });
  service.faults.fail(lost, onFirstCall(loseResponse));
  expect(await create(lost)).toEqual({ status: 200, replayed: undefined });
});

test.each([
  ['without headers', { headers: undefined }, 41501],
  ['whose body is not a string', { body: 7 }, 40001],
  ['that is empty', { headers: undefined, body: undefined }, 40001],
])('createPlant returns an error for an event %s, which API Gateway never sends', async (_, change, error) => {
  const { body } = await service.invoke({ ...proxyEvent('{"id":32,"name":"Moss"}'), ...change });
  expect(body).toMatchObject({ error });
});

test.each([
  '123456789012345,"name":"Moss","height":17',
  '1234567890123456,"name":"Moss"',
  '1E1,"name":"Moss"',
  '1,"name":"Moss","height":1.5',
])('createPlant parses a body only once if its numbers fit exactly in JavaScript numbers: {"id":%s}', async (rest) => {
  const body = `{"id":${rest}}`;
  const parse = vi.spyOn(JSON, 'parse');
  await service.invoke(proxyEvent(body));
  expect(parse.mock.calls.filter(([text]) => text === body).length, 'calls of JSON.parse with the body').toBe(1);
});

test('createPlant responds with the error 50302, and does not call the store, if reading the body takes so long that too little time is left', async () => {
  const id = newId();
  const calls = service.faults.calls();
  const left = vi.spyOn(lambdaContext, 'getRemainingTimeInMillis').mockReturnValueOnce(2_899);
  const { status, headers, body, log } = await service.invoke(proxyEvent(`{"id":${id},"name":"Moss"}`));
  expect({ status, headers, body }).toMatchObject({
    status: 503,
    headers: { 'retry-after': '1' },
    body: { error: 50302 },
  });
  expect(log).toMatchObject([{ level: 'warn', entry: { error: 50302, cause: { name: 'CatalogueError' } } }]);
  expect(service.faults.calls() - calls, 'calls to the store').toBe(0);
  left.mockReturnValueOnce(2_900);
  expect(await service.invoke(proxyEvent(`{"id":${id},"name":"Moss"}`))).toMatchObject({ status: 200 });
});

test('createPlant decodes a base64-encoded body, whatever its content type', async () => {
  const plain = `{"id":${newId()},"name":"\ufffd"}`;
  const encoded = (text: string, encoding: BufferEncoding) =>
    proxyEvent(Buffer.from(text, encoding).toString('base64'), { isBase64Encoded: true });
  expect(await service.invoke(encoded(plain, 'utf8'))).toMatchObject({ status: 200 });
  const invalid = encoded(plain.replace('\ufffd', '\xff'), 'latin1');
  expect(await service.invoke(invalid)).toMatchObject({ body: { error: 40001 } });
});

test('createPlant limits the size of a body in bytes, not in characters, and counts the bytes of a base64 body after decoding', async () => {
  const body = (more: string): string => `{"id":${newId()},"name":"Moss","more":"${more}"}`;
  expect((await service.invoke(proxyEvent(body('ü'.repeat(524_288))))).body).toMatchObject({ error: 41301 });
  const encoded = Buffer.from(body('x'.repeat(1_048_000))).toString('base64');
  expect((await service.invoke(proxyEvent(encoded, { isBase64Encoded: true }))).status).toBe(200);
});

test('createPlant does not count brackets in a string as nesting, even if the string has escaped quotes or backslashes', async () => {
  const body = (name: string, more: string): string =>
    `{"id":${newId()},"name":${JSON.stringify(name)},"more":${more}}`;
  const deep = '['.repeat(2_001);
  expect((await service.invoke(proxyEvent(body(`"${deep}`, '0')))).status).toBe(200);
  expect((await service.invoke(proxyEvent(body('\\', deep + ']'.repeat(2_001))))).body).toMatchObject({ error: 40001 });
});

test('createPlant responds with the error 50001, which tells clients not to retry, if its configuration is wrong', async () => {
  const broken = await load({ AWS_ENDPOINT_URL_DYNAMODB: 'nonsense' });
  expect((await broken(proxyEvent('{"id":33,"name":"x"}'))).body).toMatchObject({ error: 50001 });
});

test('if its clock is an hour behind, createPlant calls the store twice for its first request, but only once for later ones', async () => {
  const fresh = await load({});
  for (const calls of [2, 1]) {
    const id = newId();
    service.faults.fail(id, clockAhead(60));
    expect(await fresh(proxyEvent(`{"id":${id},"name":"Moss"}`))).toMatchObject({ status: 200 });
    expect(service.faults.calls(id), 'calls to the store').toBe(calls);
  }
});

test.each(['TABLE_NAME', 'AWS_REGION'])(
  'createPlant does not start without the environment variable %s, and names it in the error',
  async (name) => {
    await expect(load({ [name]: '' })).rejects.toThrow(name);
  },
);
