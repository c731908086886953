/** `npx node template/prove/main.ts --account <id> --region <region>` tries on AWS what only AWS can show, and writes a report. */
import { rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline/promises';
import { startIn } from '@lambda-service/tools/checkouts';
import { matching, printable, runCommand, Stopped } from '@lambda-service/tools/terminal';
import { Command } from 'commander';
import { lockFolder } from 'http-api-emulator';
import { type Options, prove } from './run.ts';

const options = new Command('npx node template/prove/main.ts')
  .description('Deploys two stacks to AWS, tries what only AWS can show, writes a report, and removes both.')
  .requiredOption('--account <id>', 'the AWS account', matching(/^\d{12}$/, 'It must have 12 digits.', String))
  .requiredOption(
    '--region <name>',
    'such as eu-central-1',
    matching(/^\w+(-\w+)+-\d$/, 'It must be a region.', String),
  )
  .option('--yes', 'begin, and remove everything at the end, without a question')
  .option('--clean-up', 'only remove everything')
  .parse()
  .opts<Options>();

await runCommand(
  async () => {
    const root = path.resolve(import.meta.dirname, '../..');
    const folder = path.join(root, '.prove');
    const [stop, never] = [new AbortController(), new AbortController().signal];
    const unlock = await lockFolder(folder).catch((cause: unknown) => {
      throw new Error(`Another process runs this already, or this one cannot write to ${folder}.`, { cause });
    });
    rmSync(path.join(folder, 'stop'), { force: true });
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
      process.on(signal, () => {
        console.error('Stops after the running command …');
        // commands.sh looks for this file at each pause. The signal does not reach the commands, which would end halfway.
        writeFileSync(path.join(folder, 'stop'), '');
        stop.abort(new Stopped('Stopped.'));
      });
    const ask = async (question: string): Promise<string> => {
      if (!process.stdin.isTTY) throw new Error('Nobody can answer here: add --yes.');
      const terminal = createInterface(process.stdin, process.stdout);
      return terminal.question(question, { signal: stop.signal }).finally(() => terminal.close());
    };
    const run = async (script: string, environment: Record<string, string>) => {
      const copy = { folder: root, temporary: os.tmpdir() };
      const { ended, output, stdout } = startIn(copy, ['sh', '-c', script], never, environment);
      return { code: await ended, stdout: stdout(), output: output() };
    };
    const say = (line: string): void => console.log(printable(line));
    process.exitCode = await prove(options, { folder, scale: 1, run, ask, say, stop: stop.signal });
    await unlock();
  },
  process,
  false,
);
