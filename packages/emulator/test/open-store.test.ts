/** Tests the store's data folder, and a store that the user runs. embedded-store.test.ts tests the embedded store. */
import { once } from 'node:events';
import { mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { devNull } from 'node:os';
import path from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { FolderError, lockFolder, openDatabase, reason } from '../dynamodb/data-folder.ts';
import { openStore } from '../dynamodb/store.ts';
import { functionSpec } from './kit/one-function.ts';
import { account, key } from './kit/templates.ts';
import { startServer, stopTimers, temporaryFolder } from './kit/temporary.ts';

const newFolder = async () => path.join(await temporaryFolder(), 'data');

test('lockFolder creates a folder that only the current user can read, and rejects if the folder is already locked', async () => {
  const parent = await newFolder();
  const folder = path.join(parent, 'of', 'mine');
  const unlock = await lockFolder(folder);
  for (const created of [parent, path.dirname(folder), folder, path.join(folder, 'lock')])
    expect((await stat(created)).mode & 0o777).toBe(0o700);
  const sentence = `The data folder ${folder} is in use. Stop the process that uses it, or choose another folder.`;
  await expect(lockFolder(folder)).rejects.toThrow(new FolderError(sentence));
  await unlock();
  await (await lockFolder(folder))();
});

test('lockFolder rejects a data folder that it cannot write, and reports why', async () => {
  const folder = await newFolder();
  await writeFile(folder, '');
  await expect(lockFolder(folder)).rejects.toThrow(/cannot be written: ENOTDIR.* Check its permissions and the space/);
});

test.each<[name: string, files: Record<string, string>, first: string]>([
  // A folder with the user's files 000007.log and LOG must be refused: LevelDB would delete the first and rename the
  // second.
  ['lock', { '000007.log': 'mine', LOG: 'mine' }, '000007.log'],
  // Valid LevelDB files in `dynamodb`, but no folder `lock`. The emulator creates `lock` first, so these files must be
  // the user's own.
  ['dynamodb', { CURRENT: 'MANIFEST-000777\n', 'LOG.old': 'mine', 'MANIFEST-000777': 'mine' }, 'CURRENT'],
])("lockFolder rejects a data folder whose subfolder %s has the user's own files, %j", async (name, files, first) => {
  const folder = await newFolder();
  const theirs = path.join(folder, name);
  await mkdir(theirs, { recursive: true });
  for (const [file, text] of Object.entries(files)) await writeFile(path.join(theirs, file), text);
  const sentence = `${theirs} has files that the emulator did not create (${first}). Move that folder away, or choose another data folder.`;
  await expect(lockFolder(folder)).rejects.toThrow(new FolderError(sentence));
  expect(await readdir(folder)).toEqual([name]);
  const texts = (await readdir(theirs)).map(async (file) => [file, await readFile(path.join(theirs, file), 'utf8')]);
  expect(Object.fromEntries(await Promise.all(texts))).toEqual(files);
});

test('lockFolder accepts a folder with the data of a process that has ended', async () => {
  const folder = await newFolder();
  await (await lockFolder(folder))();
  await (await openDatabase(path.join(folder, 'dynamodb')))();
  await (await lockFolder(folder))();
  expect(await readdir(folder)).toEqual(['dynamodb', 'lock']);
});

test("reason() returns the message of an error's innermost cause", () => {
  const cause = new Error('the disk is full');
  expect(reason(new Error('Database is not open', { cause: new Error('failed', { cause }) }))).toBe('the disk is full');
  expect(reason(new TypeError(''))).toBe('TypeError');
  expect(reason('the disk is full')).toBe('the disk is full');
});

test('openStore rejects a data folder that another store uses, and the message does not say to delete the folder', async () => {
  const folder = await newFolder();
  const store = await openStore({ folder });
  const message = `${path.join(folder, 'dynamodb')} is in use. Stop the process that uses it, or choose another folder.`;
  await expect(openStore({ folder })).rejects.toThrow(message);
  await store.close();
});

test('openStore rejects a damaged database, and says to delete it, but not if only its folder cannot be read', async () => {
  const folder = await temporaryFolder();
  const dynamodb = path.join(folder, 'dynamodb');
  await writeFile(dynamodb, '');
  const unreadable = `The data in ${dynamodb} cannot be used: EEXIST: file already exists, mkdir '${dynamodb}'. Check its`;
  await expect(openStore({ folder })).rejects.toThrow(unreadable);
  await rm(dynamodb);
  await mkdir(dynamodb);
  await writeFile(path.join(dynamodb, 'CURRENT'), 'rubbish');
  const damaged =
    'cannot be used: Corruption: CURRENT file does not end with newline. Delete that folder and its data, or';
  await expect(openStore({ folder })).rejects.toThrow(damaged);
});

/**
 * Starts a fake DynamoDB whose only table stays CREATING until the test sets `status` to ACTIVE. `described` counts the
 * calls of DescribeTable.
 */
const startSlowStore = async () => {
  const store: { endpoint: string; status?: 'CREATING' | 'ACTIVE'; described: number } = { endpoint: '', described: 0 };
  const server = createServer(async (request, response) => {
    await request.toArray();
    const [, operation = ''] = String(request.headers['x-amz-target']).split('.');
    response.setHeader('content-type', 'application/x-amz-json-1.0');
    if (operation === 'ListTables') return response.end('{"TableNames":[]}');
    if (operation === 'CreateTable') {
      store.status = 'CREATING';
      return response.end(JSON.stringify({ TableDescription: { ...key, TableStatus: store.status } }));
    }
    store.described += 1;
    if (store.status) return response.end(JSON.stringify({ Table: { ...key, TableStatus: store.status } }));
    return response.writeHead(400).end('{"__type":"com.amazonaws.dynamodb.v20120810#ResourceNotFoundException"}');
  });
  store.endpoint = `http://127.0.0.1:${await startServer(server)}`;
  return store;
};

describe('the emulator with a store that the user runs', () => {
  test("is not ready until the store's table is active", async () => {
    const slow = await startSlowStore();
    const store = await openStore(slow);
    const ready = vi.fn();
    const creating = store.createTables([{ TableName: 'Orders', ...key }]).then(ready);
    await vi.waitUntil(() => slow.described > 4, 60_000);
    expect(ready).not.toHaveBeenCalled();
    slow.status = 'ACTIVE';
    await creating;
    await store.close();
  });

  const noFiles = { AWS_CONFIG_FILE: devNull, AWS_SHARED_CREDENTIALS_FILE: devNull };
  const credentials = { AWS_ACCESS_KEY_ID: 'mine', AWS_SECRET_ACCESS_KEY: 'shh', AWS_SESSION_TOKEN: 'session' };
  const anybody = { AWS_ACCESS_KEY_ID: 'local', AWS_SECRET_ACCESS_KEY: 'local' };

  test.each<[what: string, environment: Record<string, string | undefined>, expected: object]>([
    ['the credentials in the environment', credentials, credentials],
    ['made-up credentials if the environment has no secret', { AWS_ACCESS_KEY_ID: 'mine' }, anybody],
  ])("makes functions ignore the user's AWS files, and call the store with %s", async (_, environment, expected) => {
    const { endpoint } = await startSlowStore();
    for (const name of Object.keys(credentials)) vi.stubEnv(name, environment[name]);
    const store = await openStore({ endpoint });
    expect(store.enforcesRoles).toBe(false);
    const found = { AWS_ENDPOINT_URL_DYNAMODB: endpoint, AWS_REGION: account.region, ...noFiles, ...expected };
    expect(store.environmentOf(functionSpec)).toEqual(found);
  });

  const notHere = 'connect ECONNREFUSED 127.0.0.1:9. Start it, or correct its address.';
  const invalidToken = '{"__type":"UnrecognizedClientException","message":"The token is invalid."}';
  test.each<[endpoint: string | [status: number, body: string], why: string]>([
    ['nonsense', 'The store needs a folder, or an endpoint that is an http or https URL'],
    ['http://127.0.0.1:9', notHere],
    [[200, '<!doctype html>'], 'it does not respond as DynamoDB does. Correct its address.'],
    [[400, invalidToken], 'The token is invalid.'],
  ])('does not start, and says why, with the address %j, or at one that responds so', async (at, why) => {
    const site = createServer((request, response) => {
      request.resume();
      response.writeHead(Number(at[0]), { 'content-type': 'application/x-amz-json-1.0' }).end(at[1]);
    });
    const endpoint = typeof at === 'string' ? at : `http://127.0.0.1:${await startServer(site)}`;
    const message = typeof at === 'string' ? why : `The store (${endpoint}) cannot be used: ${why}`;
    await expect(openStore({ endpoint })).rejects.toThrow(message);
  });

  test('does not start, and says why, if the store does not respond within 5 seconds', async () => {
    const server = createServer();
    const endpoint = `http://127.0.0.1:${await startServer(server)}`;
    stopTimers();
    const failure = vi.fn();
    const opening = openStore({ endpoint }).catch(failure);
    await once(server, 'request');
    await vi.advanceTimersByTimeAsync(6_000);
    await opening;
    expect(String(failure.mock.lastCall)).toMatch(`The store (${endpoint}) cannot be used: `);
  });
});

test('the emulator uses the region in AWS_REGION', async () => {
  vi.stubEnv('AWS_REGION', 'eu-central-1');
  // The query makes this another module, which reads the environment anew.
  const anew: string = '../served-stack.ts?anew';
  const { defaultAccount }: typeof import('../served-stack.ts') = await import(anew);
  expect(defaultAccount.region).toBe('eu-central-1');
});
