import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import packageJson from '../../package.json' with { type: 'json' };
import { expectInContract } from './contract.ts';

const root = path.resolve(import.meta.dirname, '../..');

const programOf = (script: 'start' | 'token' | 'plant'): string => packageJson.scripts[script].split(' ').at(-1) ?? '';

/** The files that npm scripts run. */
export const programs = { start: programOf('start'), token: programOf('token'), plant: programOf('plant') };

/** A command that has ended. */
export type Ended = { code: number | null; stdout: string; stderr: string };

/**
 * Starts the arguments in a process group, all of which is killed once descriptor 3 is closed. Its other end is ours
 * alone, so this happens even if we are killed. A terminal that closes (SIGHUP) ends the watch, too.
 */
const guarded = '(read -r _; kill -KILL 0) <&3 >/dev/null 2>&1 & exec "$@" 3<&-';

/** A command that runs, in the project's folder, until `signal` or our own end. Node is the one of the tests. */
export const run = (
  command: string,
  args: string[],
  environment: Record<string, string> = {},
  signal = new AbortController().signal,
) => {
  const { AWS_ENDPOINT_URL_DYNAMODB: _, ...inherited } = process.env;
  const child = spawn('sh', ['-c', guarded, 'sh', command, ...args], {
    cwd: root,
    env: { ...inherited, ...environment },
    signal,
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe', 'pipe'],
  });
  child.on('error', () => {});
  // What the command itself has started ends with it.
  child.on('exit', () => child.stdio[3]?.destroy());
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (chunk) => (stdout += chunk));
  child.stderr.on('data', (chunk) => (stderr += chunk));
  const ended = new Promise<Ended>((resolve) => child.on('close', (code) => resolve({ code, stdout, stderr })));
  return { child, ended, output: () => stdout };
};

/** Says whether there is a process, or, with its id negated, one of a process group. */
export const isRunning = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

/** The local service, started as `npm start` does it, on free ports. */
export type LocalService = {
  pid: number;
  url: string;
  ended: Promise<Ended>;
  output: () => string;
  stop: (signal?: NodeJS.Signals) => Promise<Ended>;
};

/** @throws Error with what the service printed, if it ends before it serves */
export const startLocalService = async (
  dataFolder: string,
  environment: Record<string, string> = {},
  [command, ...args]: [string, ...string[]] = [process.execPath, programs.start],
  signal?: AbortSignal,
): Promise<LocalService> => {
  // A service that is killed leaves its temporary folder behind: here, and not in the system's.
  const settings = { PORT: '0', DATA_DIR: dataFolder, TMPDIR: dataFolder, ...environment };
  const { child, ended, output } = run(command, args, settings, signal);
  const serving = new Promise<void>((resolve) => {
    child.stdout.on('data', () => output().includes('Ctrl-C') && resolve());
  });
  const early = await Promise.race([serving, ended]);
  if (early !== undefined) throw new Error(`The local service ended (${early.code}): ${early.stdout}${early.stderr}`);
  return {
    pid: child.pid ?? 0,
    url: /at (http:\S+)/.exec(output())?.[1] ?? '',
    ended,
    output,
    stop: (signal = 'SIGTERM') => {
      child.kill(signal);
      return ended;
    },
  };
};

/** An empty folder, and how to be rid of it. */
export const temporaryFolder = async () => {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'plant-store-test-'));
  return { folder, remove: () => rm(folder, { recursive: true, force: true }) };
};

/** Sends a body as JSON, with a token, and checks the response by the contract. @returns its status */
export const post = async (url: string, body: string, token: string): Promise<number> => {
  const response = await fetch(`${url}/plants`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token.trim()}`, 'content-type': 'application/json' },
    body,
  });
  expectInContract(response.status, response.headers.get('content-type'), await response.text());
  return response.status;
};
