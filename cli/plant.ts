/**
 * `npm run -s plant -- add --id 7 --name 'Swiss cheese plant'` and `npm run -s plant -- import plants.ndjson`: add
 * plants to the running local service, or to the service at `--url`.
 */
import { stat } from 'node:fs/promises';
import path from 'node:path';
import { SingleBar } from 'cli-progress';
import { Command, InvalidArgumentError, Option } from 'commander';
import { toJson } from '../client/json.ts';
import {
  createPlantStoreClient,
  type NewPlant,
  type PlantStoreClient,
  type Result,
  type Token,
} from '../client/plant-store-client.ts';
import { fetchToken, readSession } from '../local/session.ts';
import { dataFolder } from '../local/settings.ts';
import { FailedLines } from './failed-lines.ts';
import { ImportEnded, importLines } from './import-lines.ts';

type Target = { url?: string | undefined; token?: string | undefined };

const rerunAdvice = 'Run it again: plants that are already stored are not stored twice.';

/** Makes a client for `--url`, or else for the running local service. @throws Error with a one-sentence message */
const connect = async (target: Target): Promise<PlantStoreClient & { url: string }> => {
  const { url } = target;
  if (url !== undefined) return { url, ...createPlantStoreClient({ baseUrl: url, token: readToken(target) }) };
  if (target.token !== undefined) throw new Error('--token also needs --url, the service that the token is for.');
  const session = readSession(dataFolder());
  let cachedToken: Promise<string> | undefined;
  const sessionToken: Token = ({ refused }) => {
    if (cachedToken === undefined || refused) cachedToken = fetchToken(session);
    return cachedToken;
  };
  return { url: session.url, ...createPlantStoreClient({ baseUrl: session.url, token: sessionToken }) };
};

/** Reads the access token for the service at `--url`. @throws Error with a one-sentence message for the user */
const readToken = (target: Target): string => {
  const token = target.token ?? process.env['ACCESS_TOKEN'];
  if (!token) throw new Error('--url needs an access token: set ACCESS_TOKEN, or give --token.');
  if (!/^[\x21-\x7e]+$/.test(token)) {
    throw new Error('ACCESS_TOKEN or --token must be the token alone: no spaces, no line breaks, no "Bearer".');
  }
  return token;
};

type Failed = Result<'createPlant'> & { ok: false };

/** Says in one sentence what failed and what to do about it, and which request it was. */
const explain = (result: Failed, url: string): string =>
  `${advice(result, url)}${result.requestId === undefined ? '' : ` [request ${result.requestId}]`}`;

const advice = (result: Failed, url: string): string => {
  const { error, message } = result;
  if (error === 'no answer')
    return `Nothing answers at ${url} (${message}): check --url, or start the service: npm start`;
  if (error !== 'gateway') return `The plant is not stored (${error}): ${message}`;
  switch (result.status) {
    case 401:
    case 403:
    case 431:
      return `The token was refused at ${url} (${result.status}): get another one with npm run -s token (for a deployment: npm run -s token -- --stack PlantStore)`;
    case 413:
      return `The plant is too large (413: ${message}).`;
    case 429:
    case 500:
    case 502:
    case 503:
    case 504:
      return `The plant is not stored (${result.status}: ${message}): try again later, which is safe.`;
    default:
      return `No Plant Store answers at ${url} (${result.status}): check --url.`;
  }
};

const sentence = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** npm runs scripts in the project's folder; INIT_CWD is the folder in which the user called npm. */
const resolveForCaller = (file: string): string => path.resolve(process.env['INIT_CWD'] ?? '', file);

const add = async ({ url: service, token, ...plant }: Target & NewPlant) => {
  const { url, createPlant } = await connect({ url: service, token });
  const result = await createPlant(plant);
  if (!result.ok) throw new Error(explain(result, url));
  console.log(toJson(result.body));
};

const importFile = async (given: string, target: Target): Promise<void> => {
  const file = resolveForCaller(given);
  const found = await stat(file).catch(() => undefined);
  if (!found?.isFile()) throw new Error(`There is no file ${file}: name a file that has one plant in JSON per line.`);
  const { url, createPlant } = await connect(target);

  const failedFile = `${file}.failed.ndjson`;
  const failures = await FailedLines.in(failedFile);
  const stop = new AbortController();
  // A Ctrl-C arrives twice: from the terminal, and forwarded by npm.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stop.abort());

  // Without a terminal, cli-progress draws nothing.
  const bar = new SingleBar({
    format: '{bar} {percentage}% | {stored} stored, {failed} failed | {eta_formatted} left',
  });
  let [stored, failed, sent] = [0, 0, 0];
  bar.start(found.size, 0, { stored, failed });
  try {
    for await (const line of importLines(file, (plant) => createPlant(plant, { signal: stop.signal }))) {
      stop.signal.throwIfAborted();
      if (line.failure?.error !== 'not sent') sent += 1;
      if (line.failure === undefined) stored += 1;
      else {
        failed += 1;
        await failures.add({ line: line.number, ...line.failure, text: line.text });
      }
      bar.update(line.end, { stored, failed });
    }
    if (sent > 0) await failures.complete();
  } catch (error) {
    bar.stop();
    const soFar = `${stored} stored, ${failed} failed so far.`;
    if (stop.signal.aborted) {
      console.error(`Stopped: ${soFar} ${rerunAdvice}`);
      process.exit(130);
    }
    throw new Error(
      `${error instanceof ImportEnded ? explain(error.result, url) : sentence(error)}\n${soFar} ${rerunAdvice}`,
    );
  }
  bar.stop();
  console.log(`${stored} stored, ${failed} failed${failed > 0 ? `: see ${failedFile}` : ''}`);
  process.exitCode = failed > 0 ? 1 : 0;
};

const integer = (text: string): bigint => {
  if (!/^-?\d+$/.test(text)) throw new InvalidArgumentError('It must be an integer.');
  return BigInt(text);
};

const httpUrl = (text: string): string => {
  const protocol = URL.parse(text)?.protocol ?? '';
  if (!/^https?:$/.test(protocol)) throw new InvalidArgumentError('It must be a URL such as https://host.example');
  return text;
};

const program = new Command('npm run -s plant --')
  .description('Adds plants to the running local service, or to the one at --url.')
  .showHelpAfterError('See: npm run -s plant -- --help');

const command = (name: string, description: string): Command =>
  program
    .command(name)
    .description(description)
    .showHelpAfterError(`See: npm run -s plant -- ${name} --help`)
    .option('--url <url>', 'the service to use instead of the local one; needs an access token', httpUrl)
    .option('--token <token>', 'the access token, instead of ACCESS_TOKEN; other users of this machine may see it');

/** The options of `plant add`: one for each field of the contract, with the same name. */
const fields: Record<keyof NewPlant, Option> = {
  id: new Option('--id <integer>', 'identifies the plant; a 64-bit integer').argParser(integer).makeOptionMandatory(),
  name: new Option('--name <text>', 'any text').makeOptionMandatory(),
  tag: new Option('--tag <text>', 'any text'),
};
const addCommand = command('add', 'Adds a plant and prints it.').action(add);
for (const option of Object.values(fields)) addCommand.addOption(option);

command('import', 'Adds the plants in a file with one JSON object per line. Running it again is safe.')
  .argument('<file>', 'has lines such as {"id":7,"name":"Moss"}; lines that fail are written to <file>.failed.ndjson')
  .action(importFile);

try {
  await program.parseAsync();
} catch (error) {
  console.error(sentence(error));
  process.exit(1);
}
