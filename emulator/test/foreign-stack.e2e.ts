/** Serves a stack that the CDK synthesizes and that shares nothing with this repository's own stack. */
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Emulator, serve } from '../index.ts';
import { foreignApp } from './kit/foreign-stack/stack.ts';
import { temporaryFolder } from './kit/temporary-folder.ts';

let home: Awaited<ReturnType<typeof temporaryFolder>>;
let emulator: Emulator;
beforeAll(async () => {
  home = await temporaryFolder();
  emulator = await serve({ app: foreignApp(home.folder), store: { folder: `${home.folder}/data` } });
});
afterAll(async () => {
  await emulator.close();
  await home.remove();
});

const ask = (method: string, target: string, headers: Record<string, string> = {}, body?: string) =>
  fetch(emulator.url + target, { method, headers, ...(body !== undefined && { body }) });

test('the functions of a sample stack store an order under the id in the path, and find the order in the table and in the index', async () => {
  expect((await ask('PUT', '/orders/a%201', { 'content-type': 'text/plain' }, 'ann')).status).toBe(204);
  expect((await ask('PUT', '/orders/2', { 'content-type': 'text/plain' }, 'bob')).status).toBe(204);
  expect(await (await ask('GET', '/orders/a%201')).text()).toBe('ann');
  expect(await (await ask('GET', '/customers/bob/orders')).text()).toBe('2');
  expect((await ask('GET', '/orders/none')).status).toBe(404);
});

test('a request to a route with an authorizer reaches the function only if the authorizer allows it', async () => {
  expect((await ask('GET', '/admin/a/b')).status).toBe(401);
  expect((await ask('GET', '/admin/a/b', { authorization: 'guess' })).status).toBe(403);
  const allowed = await ask('POST', '/admin/a/b', { authorization: 'secret' });
  expect(await allowed.json()).toEqual({ user: 'ann', proxy: 'a/b' });
});

test("the store refuses a function's call to a table if the function's role does not allow the call", async () => {
  const answer = await (await ask('GET', '/admin/orders', { authorization: 'secret' })).text();
  expect(answer).toMatch(
    /^"?AccessDeniedException: User: arn:aws:sts::\d{12}:assumed-role\/.*AdminFunction.* is not authorized to perform: dynamodb:GetItem on resource: arn:aws:dynamodb:.*:table\/OrdersTable.*because no identity-based policy allows the dynamodb:GetItem action/,
  );
});

test('the gateway responds 500 and logs AccessDeniedException if the stack does not grant a permission that a function needs', async () => {
  const { folder, remove } = await temporaryFolder();
  const app = foreignApp(folder, { grant: false });
  const missing = await serve({ app, store: { folder: `${folder}/data` } });
  const { status } = await fetch(`${missing.url}/orders/1`, { method: 'PUT', body: 'ann' });
  expect(status).toBe(500);
  expect(JSON.stringify(missing.log)).toContain('AccessDeniedException');
  await missing.close();
  await remove();
});

test("the emulator can invoke a function without the gateway, and can replace a function's code", async () => {
  const name = emulator.functionNames.find((each) => each.startsWith('AdminFunction')) ?? '';
  const event = { rawPath: '/', requestContext: { authorizer: { lambda: { user: 'ann' } } } };
  expect(await emulator.invoke(name, event)).toEqual({ result: '{"user":"ann"}', log: [] });
  const folder = path.join(home.folder, 'next');
  await mkdir(folder);
  await writeFile(path.join(folder, 'index.mjs'), "export const handler = async () => 'next';");
  await emulator.swap(name, folder);
  expect(await (await ask('GET', '/admin/a', { authorization: 'secret' })).text()).toBe('"next"');
});

test("the last entry in the emulator's request log is the latest request", async () => {
  await ask('GET', '/nothing');
  expect(emulator.log.at(-1)).toMatchObject({ method: 'GET', path: '/nothing', status: 404, log: [] });
});

test('the gateway responds to a preflight request without calling a function', async () => {
  const origin = 'https://shop.example';
  const preflight = await ask('OPTIONS', '/orders/1', { origin, 'access-control-request-method': 'PUT' });
  expect(preflight.status).toBe(204);
  expect(preflight.headers.get('access-control-allow-origin')).toBe(origin);
  expect(preflight.headers.get('access-control-allow-methods')).toBe('GET,PUT');
});
