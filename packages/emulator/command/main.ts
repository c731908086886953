/** What the command `http-api-emulator` does: serves a stack that `cdk synth` has written. */
import { existsSync, watchFile } from 'node:fs';
import { inspect, stripVTControlCharacters } from 'node:util';
import { Command, InvalidArgumentError } from 'commander';
import { FolderError, reason } from '../dynamodb/data-folder.ts';
import { isObject } from '../gateway/response.ts';
import { checkOptions } from '../options.ts';
import { type Emulator, serve } from '../serve.ts';
import { manifestOf, readJson } from '../template/cloud-assembly.ts';
import { notServed } from './reasons.ts';
import { accessLine } from './request-log.ts';

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
  .description('Serves a stack that `cdk synth` has written to a folder.')
  .argument('[folder]', 'the output of `cdk synth`', 'cdk.out')
  .option('--stack <name>', 'the stack, if several have an HTTP API: its name on AWS, or in `cdk list`')
  .option('--port <number>', 'the port on 127.0.0.1; 0 means any free port', Number, 3000)
  .option('--watch', 'serve each new output of `cdk synth` without a restart')
  .option('--leave-out', 'serve the stack without its queues and the like, instead of refusing it')
  .option('--data <folder>', 'the folder for the items of the tables', '.http-api-emulator')
  .option('--options <file>', 'a JSON file with more options of the function `serve`', readOptions)
  .addHelpText('after', '\nIf AWS_ENDPOINT_URL_DYNAMODB is set, the tables are in the DynamoDB at that address.');

type Options = { stack?: string; port: number; watch?: true; leaveOut?: true; data: string; options?: object };

/** Runs the command until Ctrl-C. If it cannot run, or run on, prints why, and exits with code 1. */
export const main = (): Promise<unknown> => {
  process.on('uncaughtException', (error) =>
    command.error(error instanceof FolderError ? error.message : inspect(error)),
  );
  return command
    .action(start)
    .parseAsync()
    .catch((error) => command.error(error.message));
};

const start = async (folder: string, { stack, port, watch, leaveOut, data, options }: Options): Promise<void> => {
  const manifest = manifestOf(folder);
  if (!existsSync(manifest))
    throw new Error(`${manifest} is missing. Run \`cdk synth\` first, or pass the folder to which it writes.`);
  const source = { app: { synth: () => ({ directory: folder }) }, ...(stack !== undefined && { stack }) };
  const endpoint = process.env['AWS_ENDPOINT_URL_DYNAMODB'];
  const emulator = await serve({
    ...options,
    ...source,
    store: endpoint ? { endpoint } : { folder: data },
    port,
    ...(leaveOut && { leaveOut }),
    onRequest: (logged) => console.log(accessLine(logged)),
  });

  let stopping = false;
  const announceAndLoad = async (): Promise<void> => {
    announce(emulator);
    const { stack } = emulator;
    // A reload closes functions that are being loaded.
    await emulator.warmUp().catch((error) => stopping || emulator.stack !== stack || say(error.message));
  };
  void announceAndLoad();
  const keepOld = ({ message }: Error) =>
    say(`The changed stack cannot be served, so the previous one still is: ${message}`);
  const reload = () => emulator.reload(source).then(announceAndLoad, keepOld);
  // Poll, because fs.watch does not notice that a folder is made anew. The CDK writes this file after the templates.
  if (watch) watchFile(manifest, { interval: 300 }, reload);

  const stop = async (): Promise<void> => {
    if (stopping) return;
    stopping = true;
    say('Stopping, once running requests have ended.');
    await emulator.close();
    process.exit();
  };
  // One Ctrl-C may be two signals: npm forwards those that it gets.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, stop);
};

/** Prints text without sequences that could, for example, clear the terminal. */
const say = (text: string): void => console.log(stripVTControlCharacters(text));

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
