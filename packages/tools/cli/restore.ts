/**
 * `npm run -s restore -- --from restored --to <TableName>` copies missing items from the table `restored` to the table
 * <TableName>. Items that <TableName> already has stay unchanged.
 */
import { DynamoDB } from '@aws-sdk/client-dynamodb';
import { type Command, matching, runCommand } from '../terminal.ts';
import { explain } from './aws.ts';
import { NpmCommand } from './npm-command.ts';
import { Progress } from './progress.ts';
import { checkTables, restoreItems, type Tables } from './restore-items.ts';

const tableName = matching(/^[\w.-]{3,255}$/, 'It must be the name of a table.', String);

const again = 'Run the same command again: it skips what is already there.';

export const restore: Command = async (process, console) => {
  const command: NpmCommand = new NpmCommand('npm run -s restore --', console)
    .description('Copies what another DynamoDB table lacks. It changes and deletes nothing: run it again if it stops.')
    .option('--from <table>', 'the restored table', tableName)
    .option('--to <table>', 'the table that gets what it lacks, such as the output TableName', tableName)
    .parse(process.argv);
  const { from, to } = command.opts<Partial<Tables>>();
  // --from and --to are required, but not declared so: if a user typed --form, Commander would only say that --from is
  // missing.
  if (from === undefined || to === undefined) command.error('error: name two tables, with --from and --to');
  if (from === to) command.error('error: --from and --to are the same table');

  const client = new DynamoDB({
    // In the adaptive mode, the SDK sends fewer requests while DynamoDB throttles them.
    retryMode: 'adaptive',
    maxAttempts: 10,
    // Time limits in milliseconds. By default, the SDK waits forever.
    requestHandler: { connectionTimeout: 5_000, requestTimeout: 30_000, throwOnRequestTimeout: true },
  });
  const { partitionKey, itemCount } = await checkTables(client, { from, to });
  const progress = new Progress({ restored: 0, 'already there': 0, failed: 0 }, itemCount, process.stderr);
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      progress.stop();
      console.error(`Stopped: ${progress} so far. ${again}`);
      process.exit(130);
    });
  }
  let reason: string | undefined;
  try {
    for await (const item of restoreItems(client, { from, to }, partitionKey)) {
      progress.add(item.outcome, progress.sum + 1);
      if (item.outcome === 'failed') reason ??= item.reason;
    }
  } catch (error) {
    throw new Error(`${explain(error)}\n${progress} so far. ${again}`, { cause: error });
  } finally {
    progress.stop();
  }
  console.log(String(progress));
  if (reason !== undefined) throw new Error(`Not complete: ${reason}\n${again}`);
};

if (import.meta.main) await runCommand(restore);
