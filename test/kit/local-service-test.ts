import { readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test as base, expect } from 'vitest';
import { type LocalService, programs, run, startLocalService, temporaryFolder } from './local-service.ts';

type Command = [string, ...string[]];

/** A data folder of a test's own, and what can be done with it. */
const home = async () => {
  const { folder, remove } = await temporaryFolder();
  const end = new AbortController();
  const ended: Promise<unknown>[] = [];
  /** Starts a service, and does not wait. */
  const begin = (
    environment: Record<string, string> = {},
    [command, ...args]: Command = [process.execPath, programs.start],
  ) => {
    const settings = { PORT: '0', DATA_DIR: folder, TMPDIR: folder, ...environment };
    const service = run(command, args, settings, end.signal);
    ended.push(service.ended);
    return service;
  };
  const withCurl = async (): Promise<string> => {
    await writeFile(path.join(folder, 'curl'), curl, { mode: 0o755 });
    return folder;
  };
  return {
    folder,
    begin,
    /** @returns a folder with a `curl` in it */
    curl: withCurl,
    /** What is in the folder, a service's temporary folder too. Node's compile cache is npm's own. */
    list: async () => (await readdir(folder)).filter((name) => name !== 'node-compile-cache').sort(),
    start: async (environment: Record<string, string> = {}, command?: Command) => {
      const service = await startLocalService(folder, environment, command, end.signal);
      ended.push(service.ended);
      return service;
    },
    /** The sentence with which the service ends that cannot start. */
    failure: async (environment: Record<string, string> = {}): Promise<string> => {
      const { code, stderr } = await begin(environment).ended;
      expect(code, `exit code; ${stderr}`).toBe(1);
      expect(stderr).not.toMatch(/^\s+at /m);
      return stderr.trimEnd().split('\n').at(-1) ?? '';
    },
    /** Pastes the line that the service printed into a shell, changed. */
    paste: async (service: Pick<LocalService, 'output'>, change = (line: string): string => line): Promise<string> => {
      const line = /^curl .*$/m.exec(service.output())?.[0] ?? '';
      const PATH = `${await withCurl()}:${process.env['PATH']}`;
      const { stdout, stderr } = await run('sh', ['-c', change(line)], { PATH }).ended;
      return stdout + stderr;
    },
    cleanUp: async () => {
      end.abort();
      await Promise.all(ended);
      await remove();
    },
  };
};

/** A `curl` for machines without one: it knows the options of the printed line, and prints status and body. */
const curl = `#!${process.execPath}
const { values, positionals } = require('node:util').parseArgs({ allowPositionals: true, options: {
  header: { type: 'string', short: 'H', multiple: true }, data: { type: 'string', short: 'd' },
  silent: { type: 'boolean', short: 's' }, error: { type: 'boolean', short: 'S' }, include: { type: 'boolean', short: 'i' } } });
fetch(positionals[0], { method: 'POST', body: values.data, headers: values.header.map((line) => line.split(/: */)) })
  .then(async (response) => console.log(response.status, await response.text()));
`;

/** A test with an empty data folder, `at`, whose services end with it. */
export const test = base.extend<{ at: Awaited<ReturnType<typeof home>> }>({
  // biome-ignore lint/correctness/noEmptyPattern: vitest reads from the pattern which fixtures a fixture needs
  at: async ({}, use) => {
    const mine = await home();
    await use(mine);
    await mine.cleanUp();
  },
});
