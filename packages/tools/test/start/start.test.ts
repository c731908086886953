/**
 * Tests the service that `npm start` runs, over HTTP. All tests here share one running service; tests that need a new
 * service are .e2e tests.
 */
import { chmod, readdir, readFile, stat } from 'node:fs/promises';
import { createServer } from 'node:http';
import path from 'node:path';
import { parseJson } from '@lambda-service/client';
import {
  bodyOf,
  type Content,
  createOperation,
  createRoute,
  operations,
  responseTo,
  tableKey,
} from '@lambda-service/testing/data';
import {
  fileFolder,
  jsonHeaders,
  listData,
  pathWithCurl,
  post,
  run,
  startLocalService,
  tools,
} from '@lambda-service/testing/programs';
import { startServer } from '@lambda-service/testing/servers';
import { isUnavailable, retryWhile, until, untilAvailable } from '@lambda-service/testing/waiting';
import { decodeJwt } from 'jose';
import { exampleRequest, readContract } from 'openapi-contract/page';
import { afterAll, describe, expect, inject, test, vi } from 'vitest';
import { describeLocal } from '../../cli/traced-request.ts';
import { fetchToken, readSession, writeSession } from '../../start/session.ts';
import { contractFile } from '../../start/settings.ts';

const home = await fileFolder();
await chmod(home, 0o755);
// Write the session file that a killed service leaves behind. The service must start in spite of that file.
const killed = { clientId: 'x', clientSecret: 'x', scope: 'x', certificate: 'x' };
writeSession(home, { url: 'http://127.0.0.1:9', tokenUrl: 'https://127.0.0.1:9', ...killed });
// With umask 000, every user may change every file whose mode the service does not set.
const command = `umask 000; exec ${[...tools, 'start'].join(' ')}`;
const service = await startLocalService(home, {}, ['sh', '-c', command]);
const token = await fetchToken(readSession(home));
afterAll(async () => {
  const { code, stderr } = await service.stop('SIGHUP');
  expect({ code, stderr }).toEqual({ code: 0, stderr: expect.not.stringMatching(/error|warning/i) });
  // After the service has stopped, neither the session file, which contains a secret, nor a temporary folder remains.
  expect(await listData(home)).toEqual(['dynamodb', 'issuer.json', 'lock']);
  expect(await mode('.'), 'mode of the data folder').toBe(0o755);
});

const mode = async (name: string) => (await stat(path.join(home, name))).mode & 0o777;

test('the command that npm start prints stores an item, and the output then has a line for it', async () => {
  const [printed = ''] = /^curl (?:.*\\\n)*.*$/m.exec(service.output()) ?? [];
  const { stdout, stderr } = await run('sh', ['-c', printed], { PATH: await pathWithCurl() }).ended;
  const [, status, response = ''] = /^(\d+) (.*)\n$/.exec(stdout + stderr) ?? [];
  const { body = '' } = exampleRequest(await readContract(contractFile)) ?? {};
  const id = String((parseJson(body) as Content)[tableKey.name]);
  expect([status, parseJson(response)]).toMatchObject(['200', responseTo(id)]);
  const line = new RegExp(`^\\d\\d:\\d\\d:\\d\\d ${createRoute} 200 \\d+ ms \\S+$`, 'm');
  await until(() => line.test(service.output()));
});

test.each<[status: number, cause: RegExp, sent: { body?: string; path?: string; authorization?: string }]>([
  [
    400,
    / line 1, column 2 of the request body is not JSON\n {4}Authorizer INFO .*\n {4}\w+ INFO .*"refused"/,
    { body: '{' },
  ],
  [403, / the token is refused: malformed\n {4}Authorizer INFO .*"reason"/, { authorization: 'Bearer a.b.c' }],
  [400, / the path has an invalid escape sequence$/, { path: '/%' }],
  [404, / the API has no such route$/, { path: '/nothing' }],
])('the command request shows the cause of the status %i: %s', async (status, cause, sent) => {
  const { body = bodyOf(), path: route = createOperation.path, ...headers } = sent;
  const options = { method: 'POST', headers: { ...jsonHeaders(token), ...headers }, body };
  const response = await untilAvailable(() => fetch(service.url + route, options));
  expect(response.status).toBe(status);
  vi.stubEnv('DATA_DIR', home);
  const described = await describeLocal(String(response.headers.get('apigw-requestid')));
  expect(described).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]{12}Z POST /);
  expect(described).toContain(` POST ${route} ${status} `);
  expect(described).toMatch(cause);
});

test('the local service issues tokens with every scope of the contract', () => {
  const scopes = operations.flatMap(({ security }) => Object.values(security?.[0] ?? {}).flat());
  expect(decodeJwt(token)).toMatchObject({ scope: [...new Set(scopes)].join(' ') });
});

test('the local service runs exactly the bundles that would be deployed, byte for byte', async () => {
  const [temporary = ''] = (await listData(home)).filter((name) => name.startsWith('lambda-service-'));
  const folder = path.join(home, temporary);
  const assets = (await readdir(folder)).filter((name) => name.startsWith('asset.'));
  const read = (folders: string[]) => Promise.all(folders.map((each) => readFile(path.join(each, 'index.js'), 'utf8')));
  const served = await read(assets.map((name) => path.join(folder, name)));
  // The local service does not run the functions that only stage `prod` has.
  const answering = inject('stack').functions.filter(({ name }) => !/^(OutsideCheck|SmokeTest)/.test(name));
  const deployed = await read(answering.map((each) => each.folder));
  expect(new Set(served)).toEqual(new Set(deployed));
});

test('npm start creates its files so that no other user can read them, whatever the umask', async () => {
  const [temporary = ''] = (await listData(home)).filter((name) => name.startsWith('lambda-service-'));
  const folders = ['dynamodb', 'lock', temporary];
  expect(await Promise.all(folders.map(mode))).toEqual(folders.map(() => 0o700));
  // No other user may read the client secret, or the key that signs tokens.
  expect(await Promise.all(['session.json', 'issuer.json'].map(mode))).toEqual([0o600, 0o600]);
});

describe('npm start prints the reason and exits with code 1', () => {
  const start = (environment: Record<string, string>, ...args: string[]) =>
    run(tools[0], [tools[1], 'start', ...args], { PORT: '0', DATA_DIR: home, ...environment }).ended;

  test('if its port is in use', async () => {
    const PORT = String(await startServer(createServer()));
    const stderr = `Port ${PORT} is in use. Stop the program that uses it, or choose another one; 0 means any free port. For example: PORT=3001 npm start\n`;
    expect(await start({ PORT })).toEqual({ code: 1, stdout: '', stderr });
  });

  test('if the port for debuggers is in use', async () => {
    const port = await startServer(createServer());
    const stderr = expect.stringContaining(`\nThe debugger's port ${port} cannot be used. Choose another one`);
    expect(await start({}, `--debug=${port}`)).toEqual({ code: 1, stdout: '', stderr });
  });

  test('if its data folder cannot be used', async () => {
    const NODE_OPTIONS = '--import=./packages/tools/test/start/kit/folder-error.ts';
    const stderr = 'The data cannot be used: no space left on device. For example: DATA_DIR=... npm start\n';
    expect(await start({ DATA_DIR: await fileFolder(), NODE_OPTIONS })).toMatchObject({ code: 1, stderr });
  });

  test('if another service already uses the data folder, without stopping that service', async () => {
    const stderr = expect.stringContaining('is in use. Stop the process that uses it');
    expect(await start({})).toMatchObject({ code: 1, stderr });
    expect(readSession(home).url).toBe(service.url);
    // On a busy machine, the service may run out of time.
    const status = await retryWhile(() => post(service.url, '{}', token), isUnavailable);
    expect(status, 'of a request').toBe(400);
  });
});
