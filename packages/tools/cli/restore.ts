/** Copies missing items from one DynamoDB table to another. Items that the other table already has stay unchanged. */
import { DynamoDB } from '@aws-sdk/client-dynamodb';
import { type Define, matching, Stopped, type Terminal, untilStopped } from '../terminal.ts';
import { explain } from './aws.ts';
import { Progress } from './progress.ts';
import { checkTables, restoreItems, type Tables } from './restore-items.ts';

const tableName = matching(/^[\w.-]{3,255}$/, 'It must be the name of a table.', String);

const again = 'Run the same command again: it skips what is already there.';

const restore = async ({ from, to }: Tables, { process, console, stop }: Terminal): Promise<void> => {
  const client = new DynamoDB({
    // In the adaptive mode, the SDK sends fewer requests while DynamoDB throttles them.
    retryMode: 'adaptive',
    maxAttempts: 10,
    // Time limits in milliseconds. By default, the SDK waits forever.
    requestHandler: { connectionTimeout: 5_000, requestTimeout: 30_000, throwOnRequestTimeout: true },
  });
  const { partitionKey, itemCount } = await checkTables(client, { from, to });
  const progress = new Progress({ restored: 0, 'already there': 0, failed: 0 }, itemCount, process.stderr);
  let reason: string | undefined;
  const copy = async (): Promise<void> => {
    for await (const item of restoreItems(client, { from, to }, partitionKey)) {
      progress.add(item.outcome, progress.sum + 1);
      if (item.outcome === 'failed') reason ??= item.reason;
    }
  };
  try {
    await untilStopped(stop(), copy());
  } catch (error) {
    if (error instanceof Stopped) throw new Stopped(`Stopped: ${progress} so far. ${again}`);
    throw new Error(`${explain(error)}\n${progress} so far. ${again}`, { cause: error });
  } finally {
    progress.stop();
  }
  console.log(String(progress));
  if (reason !== undefined) throw new Error(`Not complete: ${reason}\n${again}`);
};

export const define: Define = (command, terminal) =>
  command
    .option('--from <table>', 'the restored table', tableName)
    .option('--to <table>', 'the table that gets what it lacks, such as the output TableName', tableName)
    .action(({ from, to }: Partial<Tables>) => {
      // Not required options: if a user typed --form, Commander would only say that --from is missing.
      if (from === undefined || to === undefined) return command.error('error: name two tables, with --from and --to');
      if (from === to) return command.error('error: --from and --to are the same table');
      return restore({ from, to }, terminal);
    });
