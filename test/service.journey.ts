/**
 * The contract over HTTP, against a local service of its own; or, with API_URL and ACCESS_TOKEN set, against any
 * deployment (`npm run journey`), which keeps the plants it makes, under random ids.
 */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { fetchToken, readSession } from '../local/session.ts';
import { expectInContract } from './contract.ts';
import { startLocalService, temporaryFolder } from './local-service.ts';

const cleanUp: (() => Promise<unknown>)[] = [];

const findService = async (): Promise<{ url: string; token: string }> => {
  const { API_URL: url, ACCESS_TOKEN: token } = process.env;
  if (url && token) return { url: url.replace(/\/$/, ''), token };
  if (url || token) throw new Error('Set both API_URL and ACCESS_TOKEN, or neither for a local service.');
  const { folder, remove } = await temporaryFolder();
  cleanUp.push(remove);
  const service = await startLocalService(folder);
  cleanUp.push(() => service.stop());
  return { url: service.url, token: await fetchToken(await readSession(folder)) };
};

let url: string;
let token: string;
beforeAll(async () => {
  ({ url, token } = await findService());
});
afterAll(async () => {
  for (const undo of cleanUp.reverse()) await undo();
});

/** An id that no run has used. */
const newId = (): string => String(randomBytes(8).readBigInt64BE());

const post = async (body: string | Buffer, headers: Record<string, string> = {}) => {
  const response = await fetch(`${url}/plants`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
    body,
  });
  const text = await response.text();
  expectInContract(response.status, response.headers.get('content-type'), text);
  return { status: response.status, body: JSON.parse(text) };
};

describe('POST /plants', () => {
  test('answers a new plant with 200 and the plant, without its id', async () => {
    expect(await post(`{"id":${newId()},"name":"Moss","tag":"green"}`)).toEqual({
      status: 200,
      body: { name: 'Moss', tag: 'green' },
    });
    expect(await post(`{"id":${newId()},"name":"Moss"}`)).toEqual({ status: 200, body: { name: 'Moss' } });
  });

  test('answers the same plant again with 200, another one under its id with 409', async () => {
    const id = newId();
    const fern = `{"id":${id},"name":"Fern","tag":"🌱"}`;
    expect((await post(fern)).status).toBe(200);
    expect((await post(fern)).status).toBe(200);
    expect(await post(`{"id":${id},"name":"Ivy","tag":"🌱"}`)).toMatchObject({ status: 409, body: { error: 40901 } });
    expect((await post(fern)).status).toBe(200);
  });

  test('keeps ids apart that a double would not', async () => {
    const id = (BigInt(newId()) / 2n) | (2n ** 60n) | 1n;
    expect((await post(`{"id":${id},"name":"odd"}`)).status).toBe(200);
    expect((await post(`{"id":${id - 1n},"name":"even"}`)).status).toBe(200);
    expect((await post(`{"id":${id},"name":"odd"}`)).status).toBe(200);
  });

  test.each([
    ['', 400, 40001],
    ['hello', 400, 40001],
    ['{"id":"x"}', 400, 40002],
    ['[]', 400, 40002],
    ['{"id":1.5,"name":"x"}', 400, 40002],
    ['{"id":9223372036854775808,"name":"x"}', 400, 40002],
    ['{"id":1,"name":"\\udfff"}', 400, 40002],
    [`{"id":1,"name":"${'x'.repeat(409_600)}"}`, 413, 41301],
    [`{"id":1,"name":"x","more":"${'x'.repeat(1_048_576)}"}`, 413, 41301],
  ])('refuses %.40s', async (body, status, error) => {
    expect(await post(body)).toMatchObject({ status, body: { error } });
  });

  test('refuses bytes that are not UTF-8', async () => {
    expect(await post(Buffer.from([0x22, 0xff, 0x22]))).toMatchObject({ status: 400, body: { error: 40001 } });
  });

  test('refuses another content type', async () => {
    const answer = await post(`{"id":${newId()},"name":"Moss"}`, { 'content-type': 'text/plain' });
    expect(answer).toMatchObject({ status: 415, body: { error: 41501 } });
  });

  test('refuses a request without a token with 401, with another token with 403', async () => {
    const plant = `{"id":${newId()},"name":"Moss"}`;
    expect(await post(plant, { authorization: '' })).toEqual({ status: 401, body: { message: 'Unauthorized' } });
    const [header, payload, signature = ''] = token.split('.');
    const forged = [header, payload, signature.split('').reverse().join('')].join('.');
    for (const authorization of [`Bearer ${forged}`, 'Bearer x', `Basic ${token}`, `Bearer ${header}.${payload}.`]) {
      expect(await post(plant, { authorization })).toEqual({ status: 403, body: { message: 'Forbidden' } });
    }
  });
});

test.each([
  ['GET', '/plants'],
  ['DELETE', '/plants'],
  ['POST', '/'],
  ['POST', '/plants/1'],
])('there is no %s %s', async (method, path) => {
  const response = await fetch(url + path, { method, headers: { authorization: `Bearer ${token}` } });
  expect([response.status, await response.json()]).toEqual([404, { message: 'Not Found' }]);
});
