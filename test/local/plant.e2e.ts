/** What a newcomer does with `npm run plant`. */
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { leave, listen } from '../../local/listen.ts';
import { item, newId } from '../kit/answers.ts';
import { answer as answerOfStore, atFirstRequest, type FaultyStore, startFaultyStore } from '../kit/faulty-store.ts';
import { programs, run, startLocalService, temporaryFolder } from '../kit/local-service.ts';
import { maxId, minId, somePlants, toJson } from '../kit/plants.ts';
import { answer, startScriptedService } from '../kit/scripted-service.ts';
import { until } from '../kit/until.ts';

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

const start = (...args: string[]) => run(process.execPath, [programs.plant, ...args], { DATA_DIR, ACCESS_TOKEN: '' });

const plant = (...args: string[]) => start(...args).ended;

const earlierFailure = '{"line":7,"error":40901,"message":"taken","text":"{}"}\n';

/** A file of this test's own, and, if asked for, what an earlier import left beside it. */
const ndjson = async (content: string, { earlier = '' } = {}) => {
  const { folder, remove } = await temporaryFolder();
  onTestFinished(remove);
  const file = path.join(folder, 'plants.ndjson');
  await writeFile(file, content);
  if (earlier !== '') await writeFile(`${file}.failed.ndjson`, earlier);
  const failed = async () => {
    const lines = await readFile(`${file}.failed.ndjson`, 'utf8');
    return lines
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
  };
  const failedText = () => readFile(`${file}.failed.ndjson`, 'utf8');
  return { file, failed, failedText, list: async () => (await readdir(folder)).sort() };
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

  test('stores the smallest and the largest int64 exactly, and rejects a larger id', async () => {
    for (const id of [minId, maxId].map(String)) {
      expect(await plant('add', '--id', id, '--name', '')).toMatchObject({ code: 0, stdout: '{"name":""}\n' });
      expect(await store.read(id)).toEqual(item(id, ''));
    }
    const beyond = await plant('add', '--id', String(maxId + 1n), '--name', '');
    expect(beyond).toMatchObject({ code: 1, stderr: expect.stringContaining('(40002): id must be an integer from') });
  });
});

describe('the access token', () => {
  const moss = [programs.plant, 'add', '--id', newId(), '--name', 'Moss'];
  const add = (ACCESS_TOKEN: string, ...args: string[]) =>
    run(process.execPath, [...moss, ...args], { DATA_DIR, ACCESS_TOKEN }).ended;

  test.each<[what: string, args: string[], authorization: string]>([
    ['is that of ACCESS_TOKEN', [], 'Bearer from.the.environment'],
    ['is that of --token, if there are both', ['--token', 'a.b.c'], 'Bearer a.b.c'],
  ])('for --url %s', async (_, args, authorization) => {
    const { baseUrl, received } = await startScriptedService(answer(200, { name: 'Moss' }));
    const { code, stderr } = await add('from.the.environment', '--url', baseUrl, ...args);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(received).toMatchObject([{ authorization }]);
  });

  test('of ACCESS_TOKEN is not used for the local service, which has its own', async () => {
    expect(await add('from.the.environment')).toMatchObject({ code: 0, stdout: '{"name":"Moss"}\n' });
    expect(await add('two words')).toMatchObject({ code: 0 });
  });

  test('of ACCESS_TOKEN is neither sent nor printed if it is not a token', async () => {
    const { baseUrl, received } = await startScriptedService(answer(200, { name: 'Moss' }));
    const stderr = 'ACCESS_TOKEN or --token must be the token alone: no spaces, no line breaks, no "Bearer".\n';
    expect(await add('two words', '--url', baseUrl)).toEqual({ code: 1, stdout: '', stderr });
    expect(received).toEqual([]);
  });

  test('is that of ACCESS_TOKEN, as --help says', async () => {
    for (const command of ['add', 'import']) {
      expect((await plant(command, '--help')).stdout).toMatch(/ACCESS_TOKEN/);
    }
  });
});

describe('plant import', () => {
  test('stores 200 lines in a store that fails now and then, and says which lines failed', async () => {
    // Another test has plants under the ends of int64.
    const plants = somePlants(202, 7)
      .filter(({ id }) => id !== minId && id !== maxId)
      .slice(0, 200);
    const lines = plants.map(toJson);
    const [unavailable, conflict] = [String(plants[10]?.id), plants[20]];
    for (const { id } of plants.slice(40, 50)) {
      store.fail(String(id), atFirstRequest(answerOfStore(500, 'InternalServerError')));
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
    expect(await store.size(), 'items in the store').toBe(sizeBefore + 195);
    const text = (index: number) => ({ message: expect.stringMatching(/./), text: lines[index] });
    expect(await failed()).toEqual([
      { line: 11, error: 50301, ...text(10) },
      { line: 21, error: 40901, ...text(20) },
      { line: 101, error: 'not sent', ...text(100) },
      { line: 102, error: 40002, ...text(101) },
    ]);
    const { id = 0n, name = '', tag } = plants[199] ?? {};
    expect(await store.read(String(id))).toEqual(item(String(id), name, tag));

    // Fixed, and imported again in part, from its own folder: nothing is stored twice, and no old failures stay.
    store.fail(unavailable);
    await writeFile(file, lines.slice(0, 20).join('\n'));
    const line = `cd '${path.dirname(file)}' && npm --prefix '${process.cwd()}' run -s plant -- import plants.ndjson`;
    const { code, stdout } = await run('sh', ['-c', line], { DATA_DIR }).ended;
    expect({ code, stdout }).toEqual({ code: 0, stdout: '20 stored, 0 failed\n' });
    expect(await store.size(), 'items in the store').toBe(sizeBefore + 196);
    await expect(failed()).rejects.toThrow('ENOENT');
  });

  test.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)(
    'stops on %s, says that it can be run again, and keeps the failures of this import and of an earlier one',
    async (signal) => {
      const { file, failed, list } = await ndjson(`no JSON\n${'{"id":1,"name":"Moss"}\n'.repeat(1000)}`, {
        earlier: earlierFailure,
      });
      const { baseUrl, received } = await startScriptedService(answer(200, { name: 'Moss' }), () => {});
      const { child, ended } = start('import', file, '--url', baseUrl, '--token', 'a.b.c');
      await until(async () => received.length > 16 && (await failed()).length > 1);
      // Under npm it arrives twice.
      child.kill(signal);
      child.kill(signal);
      const stderr = /^Stopped: [01] stored, 1 failed so far\. Run it again: plants that are stored already are not/;
      expect(await ended).toEqual({ code: 130, stdout: '', stderr: expect.stringMatching(stderr) });
      expect(await failed()).toMatchObject([{ line: 7 }, { line: 1, error: 'not sent', text: 'no JSON' }]);
      expect(await list()).toEqual(['plants.ndjson', 'plants.ndjson.failed.ndjson']);
    },
  );

  test('keeps the failures in their file if its terminal is closed', async () => {
    const { file, failed, list } = await ndjson(`no JSON\n${'{"id":1,"name":"Moss"}\n'.repeat(1000)}`);
    const { baseUrl, received } = await startScriptedService(answer(200, { name: 'Moss' }), () => {});
    const { child, ended } = start('import', file, '--url', baseUrl, '--token', 'a.b.c');
    await until(async () => received.length > 16 && (await list()).length > 1);
    child.stdout.destroy();
    child.stderr.destroy();
    child.kill('SIGHUP');
    expect(await ended).toMatchObject({ code: 130 });
    expect(await failed()).toMatchObject([{ line: 1 }]);
    expect(await list()).toEqual(['plants.ndjson', 'plants.ndjson.failed.ndjson']);
  });

  test.each<[what: string, content: string, left: unknown[] | undefined]>([
    ['replaced by the failures of an import that is complete', '{"id":1,"name":"Moss"}\nno JSON\n', [{ line: 2 }]],
    ['removed by one in which no line fails', '{"id":1,"name":"Moss"}\n', undefined],
    ['kept by one of an empty file', '\n', [{ line: 7 }]],
    ['kept by one in which no line can be sent', 'no JSON\n', [{ line: 7 }, { line: 1 }]],
  ])('has the failures of an earlier import %s', async (_, content, left) => {
    const { file, failed, list } = await ndjson(content, { earlier: earlierFailure });
    const { baseUrl } = await startScriptedService(answer(200, { name: 'Moss' }));
    await plant('import', file, '--url', baseUrl, '--token', 'a.b.c');
    expect(await list()).toEqual(left ? ['plants.ndjson', 'plants.ndjson.failed.ndjson'] : ['plants.ndjson']);
    if (left) expect(await failed()).toMatchObject(left);
  });

  test.each<[what: string, status: number, args: (url: string, file: string) => string[]]>([
    ['the token is refused', 403, (url, file) => [file, '--url', url, '--token', 'a.b.c']],
    ['no Plant Store answers', 404, (url, file) => [file, '--url', url, '--token', 'a.b.c']],
    ['nothing answers', 200, (_, file) => [file, '--url', 'http://127.0.0.1:9', '--token', 'a.b.c']],
    ['the url is not a URL', 200, (_, file) => [file, '--url', 'plants', '--token', 'a.b.c']],
    ['the token is missing', 200, (url, file) => [file, '--url', url]],
    ['a line is too long', 200, (url, file) => [file, '--url', url, '--token', 'a.b.c']],
  ])('keeps the failures of an earlier import if %s', async (what, status, args) => {
    const content = what === 'a line is too long' ? 'x'.repeat(1_100_000) : '{"id":1,"name":"Moss"}\n';
    const { file, failedText, list } = await ndjson(content, { earlier: earlierFailure });
    const { baseUrl } = await startScriptedService(answer(status, { name: 'Moss' }));
    expect(await plant('import', ...args(baseUrl, file))).toMatchObject({ code: 1 });
    expect(await failedText()).toBe(earlierFailure);
    expect(await list()).toEqual(['plants.ndjson', 'plants.ndjson.failed.ndjson']);
  });

  test('keeps the failures of an earlier import if its file is gone, or no local service runs', async () => {
    const { file, failedText } = await ndjson('{"id":1,"name":"Moss"}\n', { earlier: earlierFailure });
    const nowhere = { DATA_DIR: path.dirname(file) };
    expect(await run(process.execPath, [programs.plant, 'import', file], nowhere).ended).toMatchObject({ code: 1 });
    expect(await failedText()).toBe(earlierFailure);
    await rm(file);
    expect(await plant('import', file)).toMatchObject({ code: 1 });
    expect(await failedText()).toBe(earlierFailure);
  });

  test('stops if the token is refused', async () => {
    const { file } = await ndjson('{"id":1,"name":"Moss"}\n'.repeat(1000));
    const { baseUrl, received } = await startScriptedService(answer(403, { message: 'Forbidden' }));
    const { code, stdout, stderr } = await plant('import', file, '--url', baseUrl, '--token', 'a.b.c');
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(
      /^The token is refused at \S+ \(403\): get another one.*\n0 stored, 0 failed so far\. Run it again: .*\n$/,
    );
    expect(received.length, 'requests').toBeLessThan(100);
  });
});

describe('says in a sentence what is wrong, and ends with code 1,', () => {
  const moss = ['add', '--id', '1', '--name', 'Moss'];
  const here = ['--token', 'a.b.c', '--url'];

  test.each<[what: string, args: string[], sentence: RegExp]>([
    ['an id is missing', ['add', '--name', 'Moss'], /^error: required option '--id <integer>' not specified\n/],
    [
      'an id is not an integer',
      ['add', '--id', '1.5', '--name', 'x'],
      /argument '1.5' is invalid. It must be an integer.\n/,
    ],
    ['an option is unknown', [...moss, '--colour', 'green'], /^error: unknown option '--colour'\n/],
    ['a command is unknown', ['remove'], /^error: unknown command 'remove'\n/],
    [
      'a token is missing',
      [...moss, '--url', 'http://127.0.0.1'],
      /^--url needs an access token: set ACCESS_TOKEN, or give --token\.\n$/,
    ],
    ['a url is missing', [...moss, '--token', 'a.b.c'], /^--token needs the --url that the token is for\.\n$/],
    ['a url is not a URL', [...moss, ...here, 'plants'], /It must be an address such as https:\/\/host.example\n/],
    [
      'a token has a line break',
      [...moss, '--token', 'a\nb', '--url', 'http://x'],
      /^ACCESS_TOKEN or --token must be the token alone/,
    ],
    ['a file is missing', ['import', '/nowhere/plants.ndjson'], /^There is no file \/nowhere\/plants.ndjson: give one/],
    ['a file is a folder', ['import', '/'], /^There is no file \/: give one/],
  ])('if %s', async (_, args, sentence) => {
    const { code, stdout, stderr } = await plant(...args);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(sentence);
  });

  test('if no local service runs', async () => {
    const { folder, remove } = await temporaryFolder();
    onTestFinished(remove);
    const { code, stderr } = await run(process.execPath, [programs.plant, ...moss], { DATA_DIR: folder }).ended;
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: `No local service is running with its data in ${folder}. Start it first: npm start; or give its DATA_DIR\n`,
    });
  });

  test('if nothing answers', async () => {
    const closed = createServer();
    const url = `http://127.0.0.1:${await listen(closed, 0)}`;
    await leave(closed);
    const { code, stderr } = await plant(...moss, ...here, url);
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: `Nothing answers at ${url} (connect ECONNREFUSED ${url.slice(7)}): check --url, or start it: npm start\n`,
    });
  });

  test.each<[status: number, sentence: RegExp]>([
    [401, /^The token is refused at \S+ \(401\): get another one/],
    [404, /^No Plant Store answers at \S+ \(404\): check --url\.\n$/],
    [500, /^The plant is not stored \(500: no\): try again later, which is safe\.\n$/],
    [504, /^The plant is not stored \(504: no\): try again later, which is safe\.\n$/],
    [307, /^No Plant Store answers at \S+ \(307\): check --url\.\n$/],
  ])('if a gateway answers %i', async (status, sentence) => {
    const { baseUrl } = await startScriptedService(answer(status, { message: 'no' }));
    const { code, stderr } = await plant(...moss, ...here, baseUrl);
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(sentence) });
  });
});

test.each([[['--help']], [['add', '--help']], [['import', '--help']]])('plant %s explains itself', async (args) => {
  const { code, stdout, stderr } = await plant(...args);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toMatch(/^Usage: plant /);
});
