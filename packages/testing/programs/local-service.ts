import { spawn } from 'node:child_process';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import { parseJson } from '@lambda-service/client';
import { afterAll, expect, inject, onTestFinished } from 'vitest';
import { expectInContract } from '../data/contract.ts';
import type { ServiceResponse } from '../suite/responses.ts';
import { startLimit } from '../trial/scale.ts';
import { createOperation } from '../under-test.ts';

const root = process.cwd();

const bin = createRequire(import.meta.url).resolve('@lambda-service/tools/bin');

/** The command of the service, for the project's folder. @example [...tools, 'token'] */
export const tools = [process.execPath, path.relative(root, bin)] as const;

type CommandResult = { code: number | null; stdout: string; stderr: string };

/**
 * A shell script that runs a command and a guard. When the test's process ends, even by SIGKILL, file descriptor 3
 * closes, and the guard kills the process group. A SIGHUP to the group (a closed terminal) ends both.
 */
const guarded = '(read -r _; kill -KILL 0) <&3 >/dev/null 2>&1 & exec "$@" 3<&-';

/** Runs a command in the project's folder, and kills it when this process ends. */
export const run = (command: string, args: string[], environment: Record<string, string> = {}) => {
  const { AWS_ENDPOINT_URL_DYNAMODB: _, ...inherited } = process.env;
  const child = spawn('sh', ['-c', guarded, 'sh', command, ...args], {
    cwd: root,
    env: { ...inherited, ...environment },
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe', 'pipe'],
  });
  // Close file descriptor 3. The guard process waits for that, and then kills what the command started and left
  // running.
  child.on('exit', () => child.stdio[3]?.destroy());
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (chunk) => (stdout += chunk));
  child.stderr.on('data', (chunk) => (stderr += chunk));
  const ended = new Promise<CommandResult>((resolve) => child.on('close', (code) => resolve({ code, stdout, stderr })));
  return { child, ended, output: () => stdout };
};

/** A local service that runs in a separate process. */
export type LocalService = Awaited<ReturnType<typeof startLocalService>>;

/** Starts the local service as `npm start` does, on a free port. @throws Error with the output if the start fails */
export const startLocalService = async (
  dataFolder: string,
  environment: Record<string, string> = {},
  [command, ...args]: [string, ...string[]] = [...tools, 'start'],
) => {
  // A killed service leaves its temporary folder behind. TMPDIR is therefore the data folder: the service creates its
  // temporary folder there, and the test removes both.
  const settings = { PORT: '0', DATA_DIR: dataFolder, TMPDIR: dataFolder, ...environment };
  const { child, ended, output } = run(command, args, settings);
  const serving = new Promise<void>((resolve) => {
    child.stdout.on('data', () => output().includes('Ctrl-C') && resolve());
  });
  const limit = setTimeout(() => child.kill('SIGKILL'), startLimit);
  const early = await Promise.race([serving, ended]).finally(() => clearTimeout(limit));
  if (early !== undefined)
    throw new Error(`The local service exited too early, with code ${early.code}: ${early.stdout}${early.stderr}`);
  return {
    child,
    pid: child.pid ?? 0,
    url: /at (http:\S+)/.exec(output())?.[1] ?? '',
    ended,
    output,
    stop: (signal: NodeJS.Signals = 'SIGTERM') => {
      child.kill(signal);
      return ended;
    },
  };
};

/** Creates an empty folder. @returns its path, and a function that removes it */
export const temporaryFolder = async () => {
  const folder = await mkdtemp(path.join(inject('temporary') ?? os.tmpdir(), 'service-test-'));
  return { folder, remove: () => rm(folder, { recursive: true, force: true }) };
};

/** Creates an empty folder, which is removed after the tests of the file. */
export const fileFolder = async (): Promise<string> => {
  const { folder, remove } = await temporaryFolder();
  afterAll(remove);
  return folder;
};

/** Creates an empty folder, which is removed when the test ends. */
export const testFolder = async (): Promise<string> => {
  const { folder, remove } = await temporaryFolder();
  onTestFinished(remove);
  return folder;
};

/**
 * Posts a body to the operation of the service at `url` that adds an item, and checks that the response follows the
 * contract.
 */
export const postItem = async (
  url: string,
  body: string | Buffer<ArrayBuffer> | null,
  headers: Record<string, string>,
): Promise<ServiceResponse> => {
  const response = await fetch(url + createOperation.path, { method: createOperation.method, headers, body });
  const text = await response.text();
  expectInContract(response.status, response.headers.get('content-type'), text);
  expect(response.headers.get('apigw-requestid'), 'id of the request').toMatch(/./);
  return { status: response.status, headers: Object.fromEntries(response.headers), body: parseJson(text) };
};

/** The headers of a request with JSON and a token. */
export const jsonHeaders = (token: string) => ({
  authorization: `Bearer ${token}`,
  'content-type': 'application/json',
});

/** Posts a body to the operation that adds an item, with a token. @returns the status */
export const post = async (url: string, body: string, token: string): Promise<number> =>
  (await postItem(url, body, jsonHeaders(token.trim()))).status;

/** Lists all files and folders in a data folder, except Node's compile cache, which npm puts there. */
export const listData = async (folder: string): Promise<string[]> =>
  (await readdir(folder)).filter((name) => name !== 'node-compile-cache').sort();

/** Writes a stand-in for `curl`, for machines without it. @returns the variable PATH with which a shell runs it */
export const pathWithCurl = async (): Promise<string> => {
  const folder = await testFolder();
  await writeFile(path.join(folder, 'curl'), curl, { mode: 0o755 });
  return `${folder}:${process.env['PATH']}`;
};

/** Knows only the options in the curl command that `npm start` prints, and prints the response's status and body. */
const curl = `#!${process.execPath}
const { values, positionals } = require('node:util').parseArgs({ allowPositionals: true, options: {
  header: { type: 'string', short: 'H', multiple: true }, data: { type: 'string', short: 'd' },
  silent: { type: 'boolean', short: 's' }, error: { type: 'boolean', short: 'S' }, include: { type: 'boolean', short: 'i' } } });
fetch(positionals[0], { method: 'POST', body: values.data, headers: values.header.map((line) => line.split(/: */)) })
  .then(async (response) => console.log(response.status, await response.text()));
`;
