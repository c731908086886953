/** Tests `npm run plant` with the local service; plant.test.ts tests what the command says if something is wrong. */
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { dynamoDbError, type FaultyStore, startFaultyStore } from '../../../test/kit/faulty-store.ts';
import { run, startLocalService, temporaryFolder } from '../../../test/kit/local-service.ts';
import { maxId, somePlants, toJson } from '../../../test/kit/plants-store.ts';
import { item } from '../../../test/kit/responses.ts';
import { retryWhile } from '../../../test/kit/waiting.ts';

const cleanUp: (() => unknown)[] = [];

let store: FaultyStore;
let folder: string;
beforeAll(async () => {
  const temporary = await temporaryFolder();
  folder = temporary.folder;
  cleanUp.push(temporary.remove);
  store = await startFaultyStore();
  cleanUp.push(store.close);
  const service = await startLocalService(folder, { AWS_ENDPOINT_URL_DYNAMODB: store.endpoint });
  cleanUp.push(() => service.stop());
});
afterAll(async () => {
  for (const undo of cleanUp.reverse()) await undo();
});

/** Runs `npm run plant` in the data folder, as a user does who is not in the project's folder. */
const plant = (...args: string[]) => {
  const command = `cd '${folder}' && npm --prefix '${process.cwd()}' run -s plant -- "$@"`;
  return run('sh', ['-c', command, 'sh', ...args], { DATA_DIR: folder }).ended;
};

test('plant add stores a plant; plant import stores what it can, keeps the lines that fail, and stores those when they are imported again', async () => {
  const plants = somePlants(100, 7).filter(({ id }) => id !== maxId);
  const lines = plants.map(toJson);
  const [unavailable, conflict] = [String(plants[10]?.id), String(plants[20]?.id)];
  store.fail(unavailable, dynamoDbError(400, 'TransactionConflictException'));
  // On a busy machine, the store may not answer in time.
  await retryWhile(
    () => plant('add', '--id', conflict, '--name', 'another'),
    ({ code }) => code !== 0,
  );
  expect(await store.read(conflict)).toEqual(item(conflict, 'another'));
  lines[30] = '{"id":1,';
  await writeFile(path.join(folder, 'plants.ndjson'), lines.join('\n'));
  const failedFile = 'plants.ndjson.failed.ndjson';
  const sizeBefore = await store.size();

  // On a busy machine, an import may end early, because no response comes within ten seconds. Then repeat it.
  const first = await retryWhile(
    () => plant('import', 'plants.ndjson'),
    ({ stderr }) => stderr !== '',
  );
  expect(first).toMatchObject({ code: 1, stdout: expect.stringContaining(`: see ${path.join(folder, failedFile)}\n`) });
  const failed = await readFile(path.join(folder, failedFile), 'utf8');
  expect(failed).toMatch(/^# plants\.ndjson:11 \(50301\): /m);
  expect(failed).toMatch(/^# plants\.ndjson:21 \(40901\): /m);
  expect(failed).toMatch(/^# plants\.ndjson:31 \(not sent\): .*\n\{"id":1,\n/m);

  store.fail(unavailable);
  // Without the two lines that can never be stored, the file has only lines that failed because the store did.
  const left = failed.split('\n').filter((text) => text !== lines[20] && text !== lines[30]);
  await writeFile(path.join(folder, failedFile), left.join('\n'));
  const second = await retryWhile(
    () => plant('import', failedFile),
    ({ code }) => code !== 0,
  );
  expect(second).toMatchObject({ code: 0, stderr: '' });
  expect(await store.size(), 'items in the store').toBe(sizeBefore + plants.length - 2);
  const { id = 0n, name = '', tag } = plants.at(-1) ?? {};
  expect(await store.read(String(id))).toEqual(item(String(id), name, tag));
});
