import { readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test as base } from 'vitest';
import { type LocalService, run, startLocalService, temporaryFolder } from './local-service.ts';

/** Creates a data folder. @returns its path, and functions that run services and commands with this folder */
const makeHome = async () => {
  const { folder, remove } = await temporaryFolder();
  const end = new AbortController();
  const ended: Promise<unknown>[] = [];
  /** Starts a service and returns at once, before the service is ready. */
  const begin = (command: string, ...args: string[]) => {
    const service = run(command, args, { PORT: '0', DATA_DIR: folder, TMPDIR: folder }, end.signal);
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
    /** Writes a stand-in for `curl` into the data folder. @returns the folder with the stand-in */
    curl: withCurl,
    /**
     * Returns the names of all files and folders in the data folder, except Node's compile cache, which npm puts there.
     */
    list: async () => (await readdir(folder)).filter((name) => name !== 'node-compile-cache').sort(),
    start: async () => {
      const service = await startLocalService(folder, {}, undefined, end.signal);
      ended.push(service.ended);
      return service;
    },
    /** Runs, in a shell, the curl command that the service printed, changed by `change`. @returns the output */
    paste: async (
      service: Pick<LocalService, 'output'>,
      change = (command: string): string => command,
    ): Promise<string> => {
      const command = /^curl (?:.*\\\n)*.*$/m.exec(service.output())?.[0] ?? '';
      const PATH = `${await withCurl()}:${process.env['PATH']}`;
      const { stdout, stderr } = await run('sh', ['-c', change(command)], { PATH }).ended;
      return stdout + stderr;
    },
    cleanUp: async () => {
      end.abort();
      await Promise.all(ended);
      await remove();
    },
  };
};

/**
 * A stand-in for `curl`, for machines without curl. The stand-in knows only the options in the curl command that
 * `npm start` prints, and prints the response's status and body.
 */
const curl = `#!${process.execPath}
const { values, positionals } = require('node:util').parseArgs({ allowPositionals: true, options: {
  header: { type: 'string', short: 'H', multiple: true }, data: { type: 'string', short: 'd' },
  silent: { type: 'boolean', short: 's' }, error: { type: 'boolean', short: 'S' }, include: { type: 'boolean', short: 'i' } } });
fetch(positionals[0], { method: 'POST', body: values.data, headers: values.header.map((line) => line.split(/: */)) })
  .then(async (response) => console.log(response.status, await response.text()));
`;

/** A test with a new, empty data folder, `home`. When the test ends, all services that it started are killed. */
export const test = base.extend<{ home: Awaited<ReturnType<typeof makeHome>> }>({
  // biome-ignore lint/correctness/noEmptyPattern: vitest demands this pattern even if no other fixture is used
  home: async ({}, use) => {
    const home = await makeHome();
    await use(home);
    await home.cleanUp();
  },
});
