/** What the command `http-api-emulator` does: serves a stack that `cdk synth` has written. */
import { existsSync, watchFile } from 'node:fs';
import { Command, InvalidArgumentError } from 'commander';
import { reason } from '../dynamodb/data-folder.ts';
import { isObject } from '../gateway/response.ts';
import { checkOptions } from '../options.ts';
import type { Emulator } from '../serve.ts';
import { manifestOf, readJson } from '../template/cloud-assembly.ts';
import { notServed } from './reasons.ts';
import { ReloadQueue } from './reload-queue.ts';
import { Serving, say, stackIn } from './serving.ts';
import { printable } from './text.ts';

/** The options of `serve` that the command sets itself. */
const ownOptions = ['app', 'assets', 'onRequest', 'port', 'stack', 'store', 'template'];

const readOptions = (file: string): object => {
  try {
    const options: unknown = readJson(file);
    if (!isObject(options)) throw new Error('It must be an object.');
    const own = Object.keys(options).find((name) => ownOptions.includes(name));
    if (own !== undefined) throw new Error(`The command has an argument for ${own}.`);
    checkOptions(options);
    return options;
  } catch (error) {
    throw new InvalidArgumentError(reason(error));
  }
};

const command = new Command('http-api-emulator')
  .configureOutput({ outputError: (text, write) => write(printable(text)) })
  .description('Serves a stack that `cdk synth` has written to a folder.')
  .argument('[folder]', 'the output of `cdk synth`', 'cdk.out')
  .option('--stack <name>', 'the stack, if several have an HTTP API: its name on AWS, or in `cdk list`')
  .option('--port <number>', 'the port on 127.0.0.1; 0 means any free port', Number, 3000)
  .option('--watch', 'serve each new output of `cdk synth` without a restart')
  .option('--verbose', 'print every request, not a summary, if there are many')
  .option('--leave-out', 'serve the stack without its queues and the like, instead of refusing it')
  .option('--data <folder>', 'the folder for the items of the tables', '.http-api-emulator')
  .option('--options <file>', 'a JSON file with more options of the function `serve`', readOptions)
  .addHelpText('after', '\nIf AWS_ENDPOINT_URL_DYNAMODB is set, the tables are in the DynamoDB at that address.');

type Options = {
  stack?: string;
  port: number;
  watch?: true;
  verbose?: true;
  leaveOut?: true;
  data: string;
  options?: object;
};

/** Runs the command until Ctrl-C. If it cannot run, or run on, prints why, and exits with code 1. */
export const main = (): Promise<unknown> => command.action(start).parseAsync();

const start = (folder: string, { stack, watch, options, ...others }: Options): Promise<void> => {
  const serving = new Serving();
  return serving.run(async () => {
    const manifest = manifestOf(folder);
    if (!existsSync(manifest))
      throw new Error(`${manifest} is missing. Run \`cdk synth\` first, or pass the folder to which it writes.`);
    const source = stackIn(folder, stack);
    const emulator = await serving.serve({ ...options, ...others, source });

    const announceAndLoad = async (): Promise<void> => {
      announce(emulator);
      const { stack } = emulator;
      // A reload closes functions that are being loaded.
      await emulator.warmUp().catch((error) => serving.isEnding || emulator.stack !== stack || say(error.message));
    };
    void announceAndLoad();
    if (!watch) return;
    const queue = new ReloadQueue(async () => {
      await emulator.reload(source);
      void announceAndLoad();
      return 'the stack';
    });
    serving.defer(() => queue.close());
    // Poll, because fs.watch does not notice that a folder is made anew. The CDK writes this file after the templates.
    watchFile(manifest, { interval: 300 }, () => queue.add(manifest));
  });
};

const announce = (emulator: Emulator): void => {
  const { url, store, routeKeys, stack } = emulator;
  say(`Serving at ${url} (store: ${store}):`);
  const served = {
    routes: routeKeys,
    functions: stack.functions.map(({ name }) => name),
    tables: stack.tables.map(({ TableName }) => TableName),
    'without effect': stack.withoutEffect,
  };
  for (const [what, names] of Object.entries(served)) say(`  ${what}: ${names.join(', ') || 'none'}`);
  for (const line of notServed(stack)) say(line);
};
