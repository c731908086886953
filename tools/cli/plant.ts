/**
 * `npm run -s plant -- add --id 7 --name 'Swiss cheese plant'` and `npm run -s plant -- import plants.ndjson` add
 * plants to the running local service, or to the service at `--url`.
 */
import { Command, InvalidArgumentError, Option } from 'commander';
import { toJson } from '../../packages/client/json.ts';
import type { NewPlant } from '../../packages/client/plant-store-client.ts';
import { matching, printable, runCommand } from '../start/terminal.ts';
import { connect, explain, type Target } from './connection.ts';
import { importPlants } from './import-plants.ts';

const add = async ({ url: service, token, ...plant }: Target & NewPlant) => {
  const { url, createPlant } = await connect({ url: service, token });
  const result = await createPlant(plant);
  if (!result.ok) throw new Error(explain(result, url));
  // Add the id, which the response lacks, so that `plant import` can read the printed line.
  console.log(printable(toJson({ id: plant.id, ...result.body }) ?? ''));
};

const integer = matching(/^-?\d+$/, 'It must be an integer.', BigInt);
const lineNumber = matching(/^[1-9]\d{0,14}$/, 'It must be the number of a line, from 1.', Number);

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

/** The options of `plant add`: one for each field of a new plant, with the same name. */
const fields: Record<keyof NewPlant, Option> = {
  id: new Option('--id <integer>', 'identifies the plant; a 64-bit integer').argParser(integer).makeOptionMandatory(),
  name: new Option('--name <text>', 'any text').makeOptionMandatory(),
  tag: new Option('--tag <text>', 'any text'),
};
const required = Object.values(fields).filter(({ mandatory }) => mandatory);
const addCommand = command('add', 'Adds a plant and prints it as JSON.')
  .usage(`${required.map(({ flags }) => flags).join(' ')} [options]`)
  .action(add);
for (const option of Object.values(fields)) addCommand.addOption(option);

command('import', 'Adds the plants in a file with one JSON object per line. Running it again is safe.')
  .argument('<file>', 'has lines such as {"id":7,"name":"Moss"}; - reads standard input')
  .option('--from <line>', 'skips the lines before this one; an import that stops prints it', lineNumber)
  .addHelpText(
    'after',
    `
Lines that fail are written to <file>.failed.ndjson (from standard input: stdin.failed.ndjson), each below a comment
with the reason. Fix them there, and import that file: the lines that are stored leave it.`,
  )
  .action(importPlants);

await runCommand(() => program.parseAsync());
