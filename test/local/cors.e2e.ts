/** Tests what `npm start` sends to web pages of other origins if the setting `allowOrigins` names some origins. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { fetchToken, readSession } from '../../local/session.ts';
import { type LocalService, startLocalService, temporaryFolder } from '../kit/local-service.ts';
import { allowOrigins } from '../kit/stacks.ts';
import { until } from '../kit/until.ts';

const [shop = ''] = allowOrigins.split(',');
const stranger = 'https://stranger.example';

let service: LocalService;
let token: string;
let end: () => Promise<void>;
beforeAll(async () => {
  const { folder, remove } = await temporaryFolder();
  service = await startLocalService(folder, {
    CDK_CONTEXT_JSON: JSON.stringify({ allowOrigins: { dev: allowOrigins } }),
  });
  token = `Bearer ${await fetchToken(readSession(folder))}`;
  end = async () => {
    await service.stop();
    await remove();
  };
});
afterAll(() => end());

/**
 * Sends a request as a page of `origin` would.
 * @returns the status, and the CORS headers, whose names are given without `access-control-`
 */
const request = async (origin: string, method: string, headers: Record<string, string> = {}, body?: string) => {
  const url = `${service.url}/plants`;
  const response = await fetch(url, { method, headers: { origin, ...headers }, ...(body !== undefined && { body }) });
  await response.text();
  const cors = [...response.headers].flatMap(([name, value]) =>
    name.startsWith('access-control-') ? [[name.replace('access-control-', ''), value]] : [],
  );
  return { status: response.status, cors: Object.fromEntries(cors) };
};

const preflight = (origin: string) => request(origin, 'OPTIONS', { 'access-control-request-method': 'POST' });

const plant = '{"id":1,"name":"Moss"}';
const json = { 'content-type': 'application/json' };

describe('if allowOrigins names the origin of a shop, the local service', () => {
  test("answers a preflight request, which has no token, and lists the methods and headers that the shop's page may send", async () => {
    const { status, cors } = await preflight(shop);
    expect(status).toBe(204);
    const { 'allow-methods': methods, 'allow-headers': headers, ...others } = cors;
    expect(others).toEqual({ 'allow-origin': shop, 'max-age': '7200' });
    expect(methods?.split(',')).toContain('POST');
    expect(headers?.split(',')).toEqual(expect.arrayContaining(['authorization', 'content-type']));
  });

  test("runs the authorizer for the request after the preflight, and lets the shop's page read the response and its headers", async () => {
    const { status, cors } = await request(shop, 'POST', { ...json, authorization: token }, plant);
    expect([status, cors['allow-origin']]).toEqual([200, shop]);
    const exposed = cors['expose-headers']?.split(',');
    expect(exposed).toEqual(expect.arrayContaining(['apigw-requestid', 'idempotent-replayed', 'retry-after']));
    await until(() => /POST \/plants 200 .*Authorizer INFO {"outcome":"allowed"}/.test(service.output()));
  });

  test.each<[what: string, status: number, headers: () => Record<string, string>, body: string]>([
    ['has no token', 401, () => json, plant],
    ['has a token that is refused', 403, () => ({ ...json, authorization: 'Bearer a.b.c' }), plant],
    ['is not JSON', 415, () => ({ 'content-type': 'text/plain', authorization: token }), plant],
    ['is no plant', 400, () => ({ ...json, authorization: token }), '{}'],
    ['is too large', 413, () => ({ ...json, authorization: token }), ' '.repeat(1_100_000)],
    ['has too large headers', 431, () => ({ ...json, authorization: 'a'.repeat(11_000) }), plant],
  ])("lets the shop's page read the error if the page's request %s (%i)", async (_, status, headers, body) => {
    const response = await request(shop, 'POST', headers(), body);
    expect([response.status, response.cors['allow-origin']]).toEqual([status, shop]);
  });

  test('sends no CORS headers to a page of another origin, whether or not the browser sends a preflight request', async () => {
    expect(await preflight(stranger)).toEqual({ status: 204, cors: {} });
    expect(await request(stranger, 'POST', { ...json, authorization: token }, plant)).toEqual({
      status: 200,
      cors: {},
    });
  });
});
