/** Runs the journey tests of test/, which need only HTTP, on a new local service or on a deployment. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Define } from '../terminal.ts';

export const define: Define = (command, { process, stop }) =>
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
      const vitest = ['node_modules/vitest/vitest.mjs', 'run', '--mode', 'journey'];
      const child = spawn(globalThis.process.execPath, vitest, { stdio: 'inherit' });
      // A Ctrl-C in a terminal reaches Vitest, too; any other signal is only ours.
      const stopped = stop();
      stopped.addEventListener('abort', () => child.kill());
      const [code] = await once(child, 'close');
      stopped.throwIfAborted();
      if (code !== 0) process.exitCode = 1;
    });
