/** Tests `npm run restore` as the runbook uses it, but between two tables of a local store. */
import { DynamoDBClient, PutItemCommand } from '@aws-sdk/client-dynamodb';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { createTable } from '../../../packages/emulator/dynamodb/tables.ts';
import { itemOf } from '../../../test/kit/example.ts';
import { dynamoDbError, type FaultyStore, hang, startFaultyStore } from '../../../test/kit/faulty-store.ts';
import { programs, run } from '../../../test/kit/local-service.ts';
import { anyCredentials, plantsTable, storeEnvironment } from '../../../test/kit/plants-store.ts';
import { restore } from '../../cli/restore.ts';
import { runHere } from './kit/run-here.ts';

let store: FaultyStore;
beforeEach(async () => {
  store = await startFaultyStore('live');
  const client = new DynamoDBClient({ ...anyCredentials, endpoint: store.endpoint });
  onTestFinished(async () => {
    client.destroy();
    await store.close();
  });
  await createTable(client, plantsTable('restored'));
  for (const id of ['1', '2', '3']) {
    await client.send(new PutItemCommand({ TableName: 'restored', Item: itemOf(id) }));
  }
});

const both = ['--from', 'restored', '--to', 'live'];

const startHere = (args = both) => runHere(restore, args, storeEnvironment(store.endpoint));

test('npm run restore copies a table, prints the counts, and skips every item if it runs again', async () => {
  const stdout = '3 restored, 0 already there, 0 failed\n';
  expect(await startHere().ended).toEqual({ code: 0, stdout, stderr: '' });
  expect(await store.size()).toBe(3);
  expect(await startHere().ended).toMatchObject({ code: 0, stdout: '0 restored, 3 already there, 0 failed\n' });
});

test('npm run restore restores the other items if one fails, and says why', async () => {
  store.fail('2', dynamoDbError(400, 'ValidationException'));
  const { code, stdout, stderr } = await startHere().ended;
  expect([code, stderr]).toEqual([1, expect.stringMatching(/^Not complete: .*secret.*\nRun the same command again: /)]);
  expect(stdout).toMatch(/^2 restored, 0 already there, 1 failed/);
});

test('npm run restore prints how many items it has restored if the user stops it', async () => {
  const reached = Promise.withResolvers<void>();
  store.fail('2', (call) => {
    reached.resolve();
    return hang(call);
  });
  const { child, ended } = run(process.execPath, [programs.restore, ...both], storeEnvironment(store.endpoint));
  await reached.promise;
  child.kill('SIGINT');
  const { code, stdout, stderr } = await ended;
  expect([code, stdout]).toEqual([130, '']);
  expect(stderr).toMatch(/^Stopped: \d restored, 0 already there, 0 failed so far\. Run the same command/);
});

test.each<[what: string, args: string[], sentence: string]>([
  ['one table twice', ['--from', 'live', '--to', 'live'], 'error: --from and --to are the same table\n'],
  ['an unknown table', ['--from', 'restored', '--to', 'other'], 'The table other cannot be read: '],
])('npm run restore says in one sentence what is wrong: %s', async (_, args, sentence) => {
  const { code, stdout, stderr } = await startHere(args).ended;
  expect([code, stdout, stderr.startsWith(sentence)]).toEqual([1, '', true]);
});
