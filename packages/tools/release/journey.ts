/** Runs the journey tests of test/, which need only HTTP, on a new local service or on a deployment. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Define } from '../terminal.ts';

const variables = ['API_URL', 'TABLE_NAME', 'ACCESS_TOKEN'];

/** @throws Error with a sentence for the user, because each test would fail with its own */
const checkTarget = async (): Promise<void> => {
  const missing = variables.filter((name) => !process.env[name]);
  const { API_URL: url = '' } = process.env;
  if (missing.length === variables.length) return;
  if (missing.length > 0)
    throw new Error(`For a deployment, also set ${missing.join(' and ')}; for a local service, none.`);
  await fetch(url).catch(() => {
    throw new Error(`Nothing answers at ${url}: check API_URL.`);
  });
};

export const define: Define = (command, terminal) =>
  command
    .addHelpText(
      'after',
      `
Without variables, a new local service is tested. For a deployment, set:
  API_URL, TABLE_NAME  the outputs ApiUrl and TableName of its stack
  ACCESS_TOKEN         what the command token prints
The table is read with the AWS credentials of the environment.`,
    )
    .action(async () => {
      await checkTarget();
      const vitest = ['node_modules/vitest/vitest.mjs', 'run', '--mode', 'journey'];
      const child = spawn(process.execPath, vitest, { stdio: 'inherit' });
      // A Ctrl-C in a terminal reaches Vitest, too; any other signal is only ours.
      const stopped = terminal.stop();
      stopped.addEventListener('abort', () => child.kill());
      const [code] = await once(child, 'close');
      stopped.throwIfAborted();
      if (code !== 0) terminal.process.exitCode = 1;
    });
