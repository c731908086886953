/** What a newcomer does with `npm run plant`. */
import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { leave, listen } from '../../local/listen.ts';
import { item, newId } from '../answers.ts';
import { answer as answerOfStore, type FaultyStore, pass, startFaultyStore } from '../faulty-store.ts';
import { run, startLocalService, temporaryFolder } from '../local-service.ts';
import { maxId, minId, somePlants, toJson } from '../plants.ts';
import { answer, startScriptedService } from '../scripted-service.ts';

const cleanUp: (() => unknown)[] = [];

let store: FaultyStore;
let DATA_DIR: string;
beforeAll(async () => {
  const { folder, remove } = await temporaryFolder();
  cleanUp.push(remove);
  store = await startFaultyStore();
  cleanUp.push(store.close);
  const service = await startLocalService(folder, { AWS_ENDPOINT_URL_DYNAMODB: store.endpoint });
  cleanUp.push(() => service.stop());
  DATA_DIR = folder;
});
afterAll(async () => {
  for (const undo of cleanUp.reverse()) await undo();
});

/** Through npm, as the README has it. */
const viaNpm = (...args: string[]) => run('npm', ['run', '-s', 'plant', '--', ...args], { DATA_DIR }).ended;

const start = (...args: string[]) => run(process.execPath, ['local/plant.ts', ...args], { DATA_DIR });

const plant = (...args: string[]) => start(...args).ended;

/** A file of this test's own. */
const ndjson = async (content: string): Promise<{ file: string; failed: () => Promise<unknown[]> }> => {
  const { folder, remove } = await temporaryFolder();
  onTestFinished(remove);
  const file = path.join(folder, 'plants.ndjson');
  await writeFile(file, content);
  const failed = async () => {
    const lines = await readFile(`${file}.failed.ndjson`, 'utf8');
    return lines
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
  };
  return { file, failed };
};

describe('plant add', () => {
  test('stores a plant and prints it; another one under its id is refused', async () => {
    const id = newId();
    const printed = { code: 0, stdout: '{"name":"Swiss cheese plant","tag":"climber"}\n', stderr: '' };
    expect(await viaNpm('add', '--id', id, '--name', 'Swiss cheese plant', '--tag', 'climber')).toEqual(printed);
    expect(await store.read(id)).toEqual(item(id, 'Swiss cheese plant', 'climber'));
    const stderr = 'The plant is not stored (40901): the id belongs to a plant with other content\n';
    expect(await plant('add', '--id', id, '--name', 'Moss')).toEqual({ code: 1, stdout: '', stderr });
  });

  test('takes the ends of int64, exact, and is told of what is beyond', async () => {
    for (const id of [minId, maxId].map(String)) {
      expect(await plant('add', '--id', id, '--name', '')).toMatchObject({ code: 0, stdout: '{"name":""}\n' });
      expect(await store.read(id)).toEqual(item(id, ''));
    }
    const beyond = await plant('add', '--id', String(maxId + 1n), '--name', '');
    expect(beyond).toMatchObject({ code: 1, stderr: expect.stringContaining('(40002): id must be an integer from') });
  });
});

describe('plant import', () => {
  test('stores 200 lines through a store that fails now and then, and says which ones failed', async () => {
    // Another test has plants under the ends of int64.
    const plants = somePlants(202, 7)
      .filter(({ id }) => id !== minId && id !== maxId)
      .slice(0, 200);
    const lines = plants.map(toJson);
    const [unavailable, conflict] = [String(plants[10]?.id), plants[20]];
    for (const { id } of plants.slice(40, 50)) {
      // The service itself tries three times: the client has to send these again.
      store.fail(String(id), (call) => (call.number <= 3 ? answerOfStore(500, 'InternalServerError') : pass)(call));
    }
    store.fail(unavailable, answerOfStore(500, 'InternalServerError'));
    await plant('add', '--id', String(conflict?.id), '--name', 'another');
    lines[100] = '{"id":1,';
    lines[101] = '{"id":"1","name":"Moss"}';
    lines[102] = '';
    const { file, failed } = await ndjson(lines.join('\n'));
    const summary = { code: 1, stdout: `195 stored, 4 failed: see ${file}.failed.ndjson\n`, stderr: '' };
    const sizeBefore = await store.size();
    expect(await viaNpm('import', file)).toEqual(summary);
    expect(await store.size()).toBe(sizeBefore + 195);
    const text = (index: number) => ({ message: expect.stringMatching(/./), text: lines[index] });
    expect(await failed()).toEqual([
      { line: 11, error: 50301, ...text(10) },
      { line: 21, error: 40901, ...text(20) },
      { line: 101, error: 'not sent', ...text(100) },
      { line: 102, error: 40002, ...text(101) },
    ]);
    const { id = 0n, name = '', tag } = plants[199] ?? {};
    expect(await store.read(String(id))).toEqual(item(String(id), name, tag));

    // Mended, and once more, in part, from where the file is: what is stored is not stored twice, no old failures stay.
    store.fail(unavailable);
    await writeFile(file, lines.slice(0, 20).join('\n'));
    const line = `cd '${path.dirname(file)}' && npm --prefix '${process.cwd()}' run -s plant -- import plants.ndjson`;
    const { code, stdout } = await run('sh', ['-c', line], { DATA_DIR }).ended;
    expect([code, stdout]).toEqual([0, '20 stored, 0 failed\n']);
    expect(await store.size()).toBe(sizeBefore + 196);
    await expect(failed()).rejects.toThrow('ENOENT');
  });

  test.each(['SIGINT', 'SIGTERM'] as const)('stops on %s, and says that it can be run again', async (signal) => {
    const { file } = await ndjson('{"id":1,"name":"Moss"}\n'.repeat(1000));
    const { baseUrl, received } = await startScriptedService(answer(200, { name: 'Moss' }), () => {});
    const { child, ended } = start('import', file, '--url', baseUrl, '--token', 'a.b.c');
    await vi.waitUntil(() => received.length > 16, { timeout: 10_000 });
    // Under npm it arrives twice.
    child.kill(signal);
    child.kill(signal);
    const stderr =
      'Stopped: 1 stored, 0 failed so far. Run it again: plants that are stored already are not stored twice.\n';
    expect(await ended).toEqual({ code: 130, stdout: '', stderr });
  });

  test('stops where the token is refused', async () => {
    const { file } = await ndjson('{"id":1,"name":"Moss"}\n'.repeat(1000));
    const { baseUrl, received } = await startScriptedService(answer(403, { message: 'Forbidden' }));
    const { code, stdout, stderr } = await plant('import', file, '--url', baseUrl, '--token', 'a.b.c');
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(
      /^The token is refused at \S+ \(403\): get another one.*\n0 stored, 0 failed so far\. Mend that first\..*\n$/,
    );
    expect(received.length).toBeLessThan(100);
  });
});

describe('says in a sentence what is wrong, and ends with code 1,', () => {
  const moss = ['add', '--id', '1', '--name', 'Moss'];
  const here = ['--token', 'a.b.c', '--url'];

  test.each<[what: string, args: string[], sentence: RegExp]>([
    ['an id is missing', ['add', '--name', 'Moss'], /^error: required option '--id <integer>' not specified\n/],
    [
      'an id is no integer',
      ['add', '--id', '1.5', '--name', 'x'],
      /argument '1.5' is invalid. It must be an integer.\n/,
    ],
    ['an option is unknown', [...moss, '--colour', 'green'], /^error: unknown option '--colour'\n/],
    ['a command is unknown', ['remove'], /^error: unknown command 'remove'\n/],
    ['a token is missing', [...moss, '--url', 'http://127.0.0.1'], /^Give --url and --token together, or neither.\n$/],
    ['a url is none', [...moss, ...here, 'plants'], /It must be an address such as https:\/\/host.example\n/],
    ['a token is none', [...moss, '--token', 'a\nb', '--url', 'http://x'], /^The token of --token must be one word/],
    ['a file is missing', ['import', '/nowhere/plants.ndjson'], /^There is no file \/nowhere\/plants.ndjson: give one/],
    ['a file is a folder', ['import', '/'], /^There is no file \/: give one/],
  ])('where %s', async (_, args, sentence) => {
    const { code, stdout, stderr } = await plant(...args);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(sentence);
  });

  test('where no local service runs', async () => {
    const { folder, remove } = await temporaryFolder();
    onTestFinished(remove);
    const { code, stderr } = await run(process.execPath, ['local/plant.ts', ...moss], { DATA_DIR: folder }).ended;
    expect([code, stderr]).toEqual([
      1,
      `No local service is running with its data in ${folder}. Start it first: npm start; or give its DATA_DIR\n`,
    ]);
  });

  test('where nothing answers', async () => {
    const closed = createServer();
    const url = `http://127.0.0.1:${await listen(closed, 0)}`;
    await leave(closed);
    const { code, stderr } = await plant(...moss, ...here, url);
    expect([code, stderr]).toEqual([
      1,
      `Nothing answers at ${url} (connect ECONNREFUSED ${url.slice(7)}): check --url, or start it: npm start\n`,
    ]);
  });

  test.each<[status: number, sentence: RegExp]>([
    [401, /^The token is refused at \S+ \(401\): get another one/],
    [404, /^No Plant Store answers at \S+ \(404\): check --url\.\n$/],
    [500, /^The plant is not stored \(500: no\): try again later, which is safe\.\n$/],
    [504, /^The plant is not stored \(504: no\): try again later, which is safe\.\n$/],
    [307, /^No Plant Store answers at \S+ \(307\): check --url\.\n$/],
  ])('where a gateway answers %i', async (status, sentence) => {
    const { baseUrl } = await startScriptedService(answer(status, { message: 'no' }));
    const { code, stderr } = await plant(...moss, ...here, baseUrl);
    expect([code, stderr]).toEqual([1, expect.stringMatching(sentence)]);
  });
});

test.each([[['--help']], [['add', '--help']], [['import', '--help']]])('plant %s explains itself', async (args) => {
  const { code, stdout, stderr } = await plant(...args);
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout).toMatch(/^Usage: plant /);
});
