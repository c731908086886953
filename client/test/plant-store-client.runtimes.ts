/** Tests the client's npm package on Node.js 20, Deno and Bun, and checks the package with linters for npm packages. */
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { toJson } from '@lambda-service/client';
import { answer, startScriptedService } from '@lambda-service/testing/servers';
import { describe, expect, onTestFinished } from 'vitest';
import { operations } from '../../functions/generated/contract.ts';
import { bodyFor, bodyOf } from './kit/any-call.ts';
import { run, test } from './kit/installed-client.ts';

const { arch } = process;

const modules = path.resolve('.ci/node_modules');

const deno = ['run', '--node-modules-dir=manual', '--allow-net=127.0.0.1'];

/**
 * Each runtime: its name, the folder of its npm package, its executable there, the arguments before the script, and the
 * suffix of a script, as in README.md.
 */
const runtimes: [name: string, folder: string, program: string, args: string[], suffix: string][] = [
  ['Node.js 20', `node-linux-${arch}`, 'bin/node', [], 'mjs'],
  ['Bun', `@oven/bun-linux-${arch === 'arm64' ? 'aarch64' : arch}`, 'bin/bun', [], 'mts'],
  ['Deno', `@deno/linux-${arch}-glibc`, 'deno', deno, 'mts'],
];

/** Calls createPlant at the first argument with the second one, and prints the outcome. A bigint is a text such as 7n. */
const script = `
import process from 'node:process';
import { createPlantStoreClient } from 'plant-store-client';
const { createPlant } = createPlantStoreClient({ baseUrl: process.argv[2], token: ({ refused }) => (refused ? 'new' : 'old') });
const exact = (_, value) => (/^\\d+n$/.test(value) ? BigInt(value.slice(0, -1)) : value);
const result = await createPlant(JSON.parse(process.argv[3], exact));
const printed = { ...result, headers: result.headers.get('idempotent-replayed') };
console.log(JSON.stringify(printed, (_, value) => (Object(value) instanceof BigInt ? value + 'n' : value)));
`;

const { createPlant } = operations;

/** Writes JSON in which `change` replaces each bigint. */
const withBigints = (value: unknown, change: (bigint: bigint) => unknown): string =>
  JSON.stringify(value, (_, each) => (typeof each === 'bigint' ? change(each) : each));

test.beforeAll(async ({ client }) => {
  for (const suffix of ['mjs', 'mts']) await writeFile(path.join(client.project, `call.${suffix}`), script);
  const loaded = "console.log(Object.keys(require('plant-store-client'))[0])";
  await writeFile(path.join(client.project, 'require.cjs'), loaded);
});

describe.each(runtimes)('the client on %s', (runtime, folder, program, args, suffix) => {
  const home = path.join(modules, folder);

  /** Runs a script on the runtime. @returns what the script prints */
  const execute = async (file: string, ...more: string[]): Promise<string> => {
    const place = path.dirname(file);
    const environment = {
      HOME: place,
      DENO_DIR: place,
      DENO_NO_UPDATE_CHECK: '1',
      BUN_RUNTIME_TRANSPILER_CACHE_PATH: '0',
    };
    const running = run(path.join(home, program), [...args, file, ...more], {
      env: { ...process.env, ...environment },
    });
    // End the process after the test, because a call of the client that hangs would go on after the test's time-out.
    onTestFinished(() => void running.child.kill());
    const { stdout, stderr } = await running;
    expect(stderr).toBe('');
    return stdout;
  };

  test('sends every digit of an id, retries, gets a new token, and returns the response', async ({ client }) => {
    const requestId = 'QcNvjVNaC1t4m14=';
    const [{ status }] = createPlant.responses;
    const response = { ...Object(bodyOf(createPlant, createPlant.responses[0])), since: 9007199254740993n };
    const { baseUrl, received } = await startScriptedService(
      (each) => each.writeHead(status, { 'content-length': '100' }).write('{', () => each.destroy()),
      answer(403, { message: 'Forbidden' }),
      answer(status, response, { 'Apigw-Requestid': requestId, 'Idempotent-Replayed': 'true' }),
    );
    const request = bodyFor(createPlant);
    const printed = await execute(
      path.join(client.project, `call.${suffix}`),
      baseUrl,
      withBigints(request, (each) => `${each}n`),
    );
    const body = JSON.parse(withBigints(response, runtime === 'Node.js 20' ? Number : (each) => `${each}n`));
    expect(JSON.parse(printed)).toEqual({ ok: true, status, requestId, headers: 'true', body });
    const sent = toJson(request);
    expect(received).toEqual(['old', 'old', 'new'].map((token) => ({ authorization: `Bearer ${token}`, body: sent })));
  });

  test('can also be loaded with `require`', async ({ client }) => {
    expect(await execute(path.join(client.project, 'require.cjs'))).toMatch(/^create\w+Client\n$/);
  });
});

test('the packed client passes publint without a warning', async ({ client }) => {
  const publint = path.join(modules, 'publint/src/cli.js');
  const env = { ...process.env, NO_COLOR: '1' };
  const { stdout } = await run(process.execPath, [publint, 'run', client.tarball, '--strict'], { env });
  expect(stdout).toMatch(/\nAll good!\n$/);
});

test('the packed client has types that TypeScript finds in every module resolution mode', async ({ client }) => {
  const attw = path.join(modules, '@arethetypeswrong/cli/dist/index.js');
  // Ignore attw's warning that `require` returns an ES module: another test shows that runtimes allow that.
  const options = ['--ignore-rules', 'cjs-resolves-to-esm', '--no-color', '--no-emoji'];
  const { stdout } = await run(process.execPath, [attw, client.tarball, ...options]);
  expect(stdout).toContain('No problems found');
});
