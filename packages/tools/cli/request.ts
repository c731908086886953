/** Prints what is known of one request to the running local service or to a deployed stack. */
import { type Define, matching } from '../terminal.ts';
import { describeDeployed, describeLocal } from './traced-request.ts';

const requestId = matching(/^[\w+/=-]+$/, 'It must be the header apigw-requestid of a response.', String);
const dayCount = matching(/^[1-9]\d{0,3}$/, 'The number of days must be a whole number from 1 to 9999.', Number);

export const define: Define = (command, { console }) =>
  command
    .argument(
      '<id>',
      'the header apigw-requestid of the response, such as QcNvjVNaC1t4m14=; write -- before an id that begins with -',
      requestId,
    )
    .option('--stack <name>', 'a deployed stack, such as OrderStore, instead of the local service')
    .option('--days <number>', 'how far back to search the logs of the stack; AWS bills what it scans', dayCount, 1)
    .action(async (id: string, { stack, days }: { stack?: string; days: number }) =>
      console.log(await (stack === undefined ? describeLocal(id) : describeDeployed(id, stack, days))),
    );
