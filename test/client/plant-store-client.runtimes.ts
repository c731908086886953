/** Tests the client's npm package on Node.js 20, Deno and Bun, and checks the package with linters for npm packages. */
import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import path from 'node:path';
import { transform } from 'esbuild';
import { test as base, describe, expect, onTestFinished } from 'vitest';
import { closeServer, listen } from '../../local/listen.ts';
import type { Call } from '../kit/client-call.ts';
import { installClient } from '../kit/installed-client.ts';
import { run, temporaryFolder } from '../kit/local-service.ts';
import { answer, startScriptedService } from '../kit/scripted-service.ts';

const { arch } = process;

const modules = path.resolve('.ci/runtimes/node_modules');

/** Each runtime: its name, the folder of its npm package, its executable there, and the arguments before the script. */
const runtimes: [name: string, folder: string, program: string, args: string[]][] = [
  ['Node.js 20', `node-linux-${arch}`, 'bin/node', []],
  ['Bun', `@oven/bun-linux-${arch === 'arm64' ? 'aarch64' : arch}`, 'bin/bun', []],
  ['Deno', `@deno/linux-${arch}-glibc`, 'deno', ['run', '--node-modules-dir=manual', '--allow-net=127.0.0.1']],
];

const test = base
  // biome-ignore lint/correctness/noEmptyPattern: vitest reads the names of the needed fixtures from this pattern
  .extend('client', { scope: 'file' }, async ({}, { onCleanup }) => {
    const { folder, remove } = await temporaryFolder();
    onCleanup(remove);
    return installClient(folder);
  })
  /**
   * Compiles client-call.ts to JavaScript, because Node.js 20 cannot run TypeScript, and puts the result into the
   * project that has the client installed.
   */
  .extend('file', { scope: 'file' }, async ({ client }) => {
    const { code } = await transform(await readFile('test/kit/client-call.ts', 'utf8'), { loader: 'ts' });
    const file = path.join(client.project, 'call.js');
    await writeFile(file, code.replace(/(?<=")[./]+\/client\/[^"]+/, 'plant-store-client'));
    return file;
  });

const plant = { name: 'Löwenzahn 🌱', tag: '' };
const stored = answer(200, plant);
const brokenOff: typeof stored = (response) => {
  response.writeHead(200, { 'content-length': '100' });
  response.write('{', () => response.destroy());
};
const thrown = { thrown: 'enough' };

describe.each(runtimes)('the client on %s', (runtime, folder, program, args) => {
  const home = path.join(modules, folder);

  /** Runs a script on Node.js 20, Bun or Deno. @returns the JSON that the script prints */
  const execute = async (file: string, ...more: string[]): Promise<unknown> => {
    const environment = {
      HOME: path.dirname(file),
      DENO_DIR: path.dirname(file),
      DENO_NO_UPDATE_CHECK: '1',
      BUN_RUNTIME_TRANSPILER_CACHE_PATH: '0',
    };
    const { child, ended } = run(path.join(home, program), [...args, file, ...more], environment);
    // End the process after the test: if a call of the client hangs, the test times out, but its process would
    // otherwise go on.
    onTestFinished(() => void child.kill());
    const { stdout, stderr } = await ended;
    expect(stderr).toBe('');
    return JSON.parse(stdout);
  };
  const call = (file: string, how: Call): Promise<unknown> => execute(file, JSON.stringify(how));

  test('runs on the version of the runtime that npm has installed in .ci/runtimes', async () => {
    const { version } = JSON.parse(await readFile(path.join(home, 'package.json'), 'utf8'));
    expect((await run(path.join(home, program), ['--version']).ended).stdout).toContain(version);
  });

  test('sends every digit of an id, and the token', async ({ file }) => {
    const { baseUrl, received } = await startScriptedService(stored);
    expect(await call(file, { baseUrl })).toEqual({ ok: true, status: 200, headers: { replayed: null }, body: plant });
    const body = '{"id":9223372036854775807,"name":"Löwenzahn 🌱","tag":""}';
    expect(received).toEqual([{ authorization: 'Bearer a.b.c', body }]);
  });

  test('returns an integer beyond 2^53 as a bigint or, if this is Node.js 20, as a rounded number', async ({
    file,
  }) => {
    const { baseUrl } = await startScriptedService((response) =>
      response.end('{"name":"Löwenzahn 🌱","tag":"","since":9007199254740993}'),
    );
    const since = runtime === 'Node.js 20' ? 9007199254740992 : '9007199254740993n';
    expect(await call(file, { baseUrl })).toEqual({
      ok: true,
      status: 200,
      headers: { replayed: null },
      body: { ...plant, since },
    });
  });

  test('returns the request id and the headers of a response', async ({ file }) => {
    const headers = { 'Apigw-Requestid': 'QcNvjVNaC1t4m14=', 'Idempotent-Replayed': 'true' };
    const [requestId, replayed] = Object.values(headers);
    const success = await startScriptedService(answer(200, plant, headers));
    expect(await call(file, success)).toMatchObject({ ok: true, requestId, headers: { replayed } });
    const failure = await startScriptedService(answer(409, { error: 40901, message: 'taken' }, headers));
    expect(await call(file, failure)).toMatchObject({ error: 40901, requestId });
  });

  test.for([301, 302, 303, 307, 308])('does not follow a redirect with the status %i', async (status, { file }) => {
    const elsewhere = await startScriptedService(stored);
    const { baseUrl, received } = await startScriptedService(
      answer(status, plant, { location: elsewhere.baseUrl }),
      stored,
    );
    expect(await call(file, { baseUrl })).toMatchObject({ ok: false, error: 'gateway', status });
    expect({ here: received.length, elsewhere: elsewhere.received.length }, 'requests').toEqual({
      here: 1,
      elsewhere: 0,
    });
  });

  test("returns 'no answer' and the reason if the connection is refused", async ({ file }) => {
    const closed = createServer();
    const baseUrl = `http://127.0.0.1:${await listen(closed, 0)}`;
    await closeServer(closed);
    const message = expect.stringMatching(/refused/i);
    expect(await call(file, { baseUrl })).toEqual({ ok: false, error: 'no answer', message });
  });

  test.for<[what: string, script: typeof stored]>([
    ['a connection that broke', (response) => response.destroy()],
    ['a response that broke off', brokenOff],
    [
      'a response of unknown length that broke off',
      (response) => response.writeHead(200).write('{', () => response.destroy()),
    ],
    ['a 429', answer(429, { message: 'later' }, { 'retry-after': '0' })],
  ])('sends a plant again after %s', async ([, script], { file }) => {
    const { baseUrl, received } = await startScriptedService(script, stored);
    expect(await call(file, { baseUrl })).toEqual({ ok: true, status: 200, headers: { replayed: null }, body: plant });
    expect(received, 'requests').toHaveLength(2);
    expect(received[1]).toEqual(received[0]);
  });

  test('gives up after three incomplete responses', async ({ file }) => {
    // Break the connection only after the response has begun, because Deno itself repeats a request that gets no
    // response.
    const { baseUrl, received } = await startScriptedService(brokenOff);
    expect(await call(file, { baseUrl })).toMatchObject({ error: 'no answer', message: expect.stringMatching(/./) });
    expect(received, 'requests').toHaveLength(3);
  });

  test('returns the HTTP status, the error number and the message of an error of the service', async ({ file }) => {
    const error = { error: 40901, message: 'taken' };
    const { baseUrl } = await startScriptedService(answer(409, error));
    expect(await call(file, { baseUrl })).toEqual({ ok: false, status: 409, ...error });
  });

  test('sends the request again, with a new token, after a 403', async ({ file }) => {
    const { baseUrl, received } = await startScriptedService(answer(403, { message: 'Forbidden' }), stored);
    expect(await call(file, { baseUrl, token: 'function' })).toEqual({
      ok: true,
      status: 200,
      headers: { replayed: null },
      body: plant,
    });
    expect(received.map(({ authorization }) => authorization)).toEqual(['Bearer old', 'Bearer new']);
  });

  test.for<[what: string, script: typeof stored]>([
    ['waiting for a response', () => {}],
    ['in the middle of a response', (response) => response.writeHead(200).write('{')],
  ])("ends a call that is %s when the call's signal is aborted", async ([, script], { file }) => {
    const arrived = Promise.withResolvers<void>();
    const { baseUrl, received } = await startScriptedService((response, request) => {
      script(response, request);
      arrived.resolve();
    });
    const control = await startScriptedService((response) => arrived.promise.then(() => response.end()));
    expect(await call(file, { baseUrl, abort: control.baseUrl })).toEqual(thrown);
    expect(received, 'requests').toHaveLength(1);
  });

  test.for<Pick<Call, 'token' | 'abort'>>([
    { abort: 'at once' },
    { abort: 'at once', token: 'function' },
    { token: 'endless' },
  ])('sends nothing if the signal is aborted before the first request: %j', async (how, { file }) => {
    const { baseUrl, received } = await startScriptedService(stored);
    expect(await call(file, { baseUrl, ...how })).toEqual(thrown);
    expect(received).toEqual([]);
  });

  test('can also be loaded with `require`', async ({ client }) => {
    const file = path.join(client.project, 'require.cjs');
    await writeFile(file, "console.log(JSON.stringify(Object.keys(require('plant-store-client'))));");
    expect(await execute(file)).toEqual([expect.stringMatching(/^create\w+Client$/)]);
  });
});

describe('the packed client', () => {
  test('passes publint without a warning', async ({ client }) => {
    const publint = path.join(modules, 'publint/src/cli.js');
    const { stdout, stderr } = await run(process.execPath, [publint, 'run', client.tarball, '--strict'], {
      NO_COLOR: '1',
    }).ended;
    expect(stdout + stderr).toMatch(/\nAll good!\n$/);
  });

  test('has types that TypeScript finds in every module resolution mode, including the old ones', async ({
    client,
  }) => {
    const attw = path.join(modules, '@arethetypeswrong/cli/dist/index.js');
    // Ignore attw's warning that `require` returns an ES module: another test shows that runtimes allow that.
    const options = ['--ignore-rules', 'cjs-resolves-to-esm', '--no-color', '--no-emoji'];
    const { code, stdout, stderr } = await run(process.execPath, [attw, client.tarball, ...options]).ended;
    expect({ code, output: stdout + stderr }).toEqual({
      code: 0,
      output: expect.stringContaining('No problems found'),
    });
  });
});
