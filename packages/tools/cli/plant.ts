/**
 * `npm run -s plant -- create --id 7 --name Ann` calls createPlant of the running local service, of a deployed stack
 * (`--stack`), or of the service at `--url`. Each operation has a command, and `import` adds the plants in a file.
 */
import { type Outcome, toJson } from '@lambda-service/client';
import { type OperationId, operations } from '../../../functions/generated/contract.ts';
import { type Command, matching, printable, runCommand } from '../terminal.ts';
import { connect, explain } from './connection.ts';
import { importPlants } from './import-file.ts';
import { NpmCommand } from './npm-command.ts';
import { addOptions, commandName } from './operation-options.ts';

const ids = Object.keys(operations) as OperationId[];
const files = ids.map((id) => operations[id].file);

const url = matching(/^https?:\/\/./, 'It must be a URL such as https://host.example', String);
const lineNumber = matching(/^[1-9]\d{0,14}$/, 'It must be the number of a line, from 1.', Number);

export const plant: Command = async (process, console) => {
  const program = new NpmCommand('npm run -s plant --', console)
    .description('Calls the operations of the running local service, or of the one that --stack or --url names.')
    .option('--stack <name>', 'a deployed stack, such as PlantStore: gets the address and tokens from AWS')
    .option('--url <url>', 'the service to use instead of the local one; needs an access token', url)
    .option('--token <token>', 'the access token, instead of ACCESS_TOKEN; other users of this machine may see it')
    .configureHelp({ showGlobalOptions: true })
    .showHelpAfterError('Add --help to see the commands and options.');

  const call = async (id: OperationId, given: unknown[]): Promise<void> => {
    const { url, client } = await connect(program.opts(), console);
    const result: Outcome<unknown, number> = await Reflect.apply(client[id], undefined, given);
    if (!result.ok) throw new Error(explain(id, result, url, operations[id].method));
    // Add what the response lacks, such as the id, so that `plant import` can read the printed line.
    const json = toJson(id === 'createPlant' ? { ...Object(given.at(-1)), ...Object(result.body) } : result.body);
    if (json !== undefined) console.log(printable(json));
  };

  for (const id of ids) {
    const isCreate = id === 'createPlant';
    const what = isCreate ? 'what was sent and the response as one JSON line, for import' : 'the response as JSON';
    const command = program
      .command(commandName(operations[id].file, files))
      .description(`Calls ${id}, and prints ${what}.`);
    if (isCreate) command.alias('add');
    const given = addOptions(command, operations[id]);
    command.action(() => call(id, given()));
  }

  program
    .command('import')
    .description(
      'Adds the plants in a file. Lines that fail go to <file>.failed.ndjson: fix them, and import that file.',
    )
    .argument('<file>', 'has one plant per line, as JSON; - reads standard input')
    .option('--from <line>', 'skips the lines before this one; an import that stops prints it', lineNumber)
    .action((file, { from }) => importPlants(file, { ...program.opts(), from }, process, console));
  await program.parseAsync(process.argv);
};

if (import.meta.main) await runCommand(plant);
