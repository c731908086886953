/** Tests the source of the operation that adds an item: its responses, and what is seen only inside the process. */
import { describe, expect, test, vi } from 'vitest';
import { bodyOf, newId, operations, proxyEvent, unknownField, withText } from '../data/index.ts';
import { lambdaContext } from '../events.ts';
import { type Invoke, invoker, startInProcess } from '../in-process.ts';
import { drip, loseResponse, onFirstCall, secret } from '../store/index.ts';
import { createOperation, hasOutsideCheck, load, loadOperation } from '../under-test.ts';
import { testOperations } from './operations.ts';
import { part } from './part.ts';
import { testFaults, testResponses } from './responses.ts';

export const testFunction = part('responses', async () => {
  const service = await startInProcess(() => {
    vi.resetModules();
    return loadOperation(createOperation.id);
  });

  testResponses(service);
  testFaults(service);
  testOperations(service);

  // Tests that stand beside those of `testFaults` wait at the same time, if they are concurrent, too.
  test.concurrent(`the log of ${createOperation.id} says how long the store took, even if it has not answered by the deadline`, async () => {
    const id = newId();
    service.faults.fail(id, drip);
    const [line] = (await service.invoke(proxyEvent(bodyOf(id)))).log;
    expect(Object(line?.value).store).toEqual({ milliseconds: 2_300 });
  });

  /** Loads a new instance of the function, with the environment variables in `environment`. */
  const start = async (environment: Record<string, string>): Promise<Invoke> => {
    vi.resetModules();
    for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value);
    return invoker(await loadOperation(createOperation.id));
  };

  describe(`the log of ${createOperation.id}`, () => {
    const outcomeOf = async (body: string): Promise<unknown> => (await service.invoke(proxyEvent(body))).log;
    const info = (outcome: string) => [{ level: 'info', value: { outcome } }];

    test('distinguishes a new item from one that was stored before', async () => {
      const id = newId();
      expect(await outcomeOf(bodyOf(id))).toMatchObject(info('created'));
      expect(await outcomeOf(bodyOf(id))).toMatchObject(info('repeated'));
    });

    test.each([
      [{ TABLE_NAME: 'no-such-table' }, 500, { name: 'ResourceNotFoundException' }],
      [{ AWS_ENDPOINT_URL_DYNAMODB: 'http://127.0.0.1:9' }, 503, { cause: { code: 'ECONNREFUSED' } }],
    ])('has the cause of a failure with %j, which the response does not reveal', async (environment, status, cause) => {
      const response = await (await start(environment))(proxyEvent(bodyOf(newId(), withText(secret))));
      expect(response).toMatchObject({ status, log: [{ value: { outcome: 'failed', cause } }] });
    });
  });

  test(`${createOperation.id} sends the header Idempotent-Replayed only if it is certain that the item was stored before the request`, async () => {
    const [id, lost] = [newId(), newId()];
    const create = async (id: string) => {
      const { status, headers } = await service.invoke(proxyEvent(bodyOf(id)));
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
  ])(
    `${createOperation.id} returns an error for an event %s, which API Gateway never sends`,
    async (_, change, error) => {
      expect((await service.invoke({ ...proxyEvent(bodyOf()), ...change })).body).toMatchObject({ error });
    },
  );

  test(`${createOperation.id} responds with the error 50302, and does not call the store, if reading the body takes so long that too little time is left`, async () => {
    const id = newId();
    const calls = service.faults.calls();
    const left = vi.spyOn(lambdaContext, 'getRemainingTimeInMillis').mockReturnValueOnce(2_899);
    expect(await service.invoke(proxyEvent(bodyOf(id)))).toMatchObject({
      status: 503,
      headers: { 'retry-after': '1' },
      body: { error: 50302 },
    });
    expect(service.faults.calls() - calls, 'calls to the store').toBe(0);
    left.mockReturnValueOnce(2_900);
    expect(await service.invoke(proxyEvent(bodyOf(id)))).toMatchObject({ status: 200 });
  });

  test(`${createOperation.id} limits the size of a body in bytes, not in characters, and counts the bytes of a base64 body after decoding`, async () => {
    const wide = `${bodyOf().slice(0, -1)},"${unknownField}":"${'ü'.repeat(524_288)}"}`;
    expect((await service.invoke(proxyEvent(wide))).body).toMatchObject({ error: 41301 });
    const encoded = Buffer.from(bodyOf() + ' '.repeat(1_048_000)).toString('base64');
    expect((await service.invoke(proxyEvent(encoded, { isBase64Encoded: true }))).status).toBe(200);
  });

  test(`${createOperation.id} does not count brackets in a string as nesting, even if the string has escaped quotes or backslashes`, async () => {
    const errorOf = async (text: string, other: string): Promise<unknown> => {
      const body = `${bodyOf().slice(0, -1)},"nor this":${JSON.stringify(text)},"${unknownField}":${other}}`;
      return Object((await service.invoke(proxyEvent(body))).body).error;
    };
    const deep = '['.repeat(2_001);
    expect(await errorOf(`"${deep}`, '0')).not.toBe(40001);
    expect(await errorOf('\\', deep + ']'.repeat(2_001))).toBe(40001);
  });

  test.each(['TABLE_NAME', 'AWS_REGION'])(
    `${createOperation.id} does not start without %s, and names it`,
    async (name) => {
      await expect(start({ [name]: '' })).rejects.toThrow(name);
    },
  );

  test.runIf(hasOutsideCheck)('the check from outside calls a route of the contract', async () => {
    vi.stubEnv('ISSUER', 'https://issuer.example');
    vi.stubEnv('API_URL', 'https://127.0.0.1:1');
    const { handler } = await load('outside-check');
    const called = operations.map(({ method, path }) => `${method} https://127.0.0.1:1${path} must answer 401.`);
    const thrown: unknown = await (handler as () => Promise<unknown>)().catch((error) => error);
    expect(
      called.some((each) => String(thrown).includes(each)),
      String(thrown),
    ).toBe(true);
  });
});
