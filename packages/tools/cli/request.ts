/**
 * `npm run -s request -- <id>` prints what the running local service did with one request. With `--stack PlantStore`,
 * the command prints what the logs of that deployed stack say about the request.
 */
import { type Command, matching, runCommand } from '../terminal.ts';
import { NpmCommand } from './npm-command.ts';
import { describeDeployed, describeLocal } from './traced-request.ts';

const requestId = matching(/^[\w+/=-]+$/, 'It must be the header apigw-requestid of a response.', String);
const dayCount = matching(/^[1-9]\d{0,3}$/, 'The number of days must be a whole number from 1 to 9999.', Number);

export const request: Command = async (process, console) => {
  const command = new NpmCommand('npm run -s request --', console)
    .description('Prints what is known of one request: its response, and what was logged for it.')
    .argument(
      '<id>',
      'the header apigw-requestid of the response, such as QcNvjVNaC1t4m14=; write -- before an id that begins with -',
      requestId,
    )
    .option('--stack <name>', 'the name of a deployed stack, such as PlantStore, instead of the local service')
    .option('--days <number>', 'how far back to search the logs of the stack; AWS bills what it scans', dayCount, 1)
    .parse(process.argv);
  const [id = ''] = command.processedArgs as [string];
  const { stack, days } = command.opts<{ stack?: string; days: number }>();
  console.log(await (stack === undefined ? describeLocal(id) : describeDeployed(id, stack, days)));
};

if (import.meta.main) await runCommand(request);
