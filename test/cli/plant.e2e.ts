/** Tests `npm run plant` with the local service, and what the command says if something is wrong. */
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { closeServer, listen } from '../../local/listen.ts';
import { dynamoDbError, type FaultyStore, onFirstRequest, startFaultyStore } from '../kit/faulty-store.ts';
import { programs, run, startLocalService, temporaryFolder } from '../kit/local-service.ts';
import { retryWhile } from '../kit/over-quota.ts';
import { maxId, somePlants, toJson } from '../kit/plants.ts';
import { item, newId } from '../kit/responses.ts';
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

const startIn = (environment: Record<string, string>, ...args: string[]) =>
  run(process.execPath, [programs.plant, ...args], { DATA_DIR, ACCESS_TOKEN: '', ...environment });

const start = (...args: string[]) => startIn({}, ...args);

const plant = (...args: string[]) => start(...args).ended;

/**
 * Runs `plant add` against the local service, with an ACCESS_TOKEN that this command must ignore. Runs it again after
 * the error 50301, as the contract advises: on a busy machine, the store may not answer in time.
 */
const add = (...args: string[]) =>
  retryWhile(
    () => startIn({ ACCESS_TOKEN: 'two words' }, 'add', ...args).ended,
    ({ stderr }) => stderr.includes('(50301)'),
  );

const earlierFailure = '# plants.ndjson:7 (40901): taken\n{}\n';

/** Writes a file for an import and, unless `earlier` is empty, a file of failed lines with the text `earlier`. */
const ndjson = async (content: string, { earlier = '' } = {}) => {
  const { folder, remove } = await temporaryFolder();
  onTestFinished(remove);
  const file = path.join(folder, 'plants.ndjson');
  await writeFile(file, content);
  if (earlier !== '') await writeFile(`${file}.failed.ndjson`, earlier);
  const failedText = () => readFile(`${file}.failed.ndjson`, 'utf8');
  /**
   * Reads the file of failed lines. Returns each line with what the comment above it says: its line number in the
   * imported file, and the error.
   */
  const failed = async () =>
    [...(await failedText()).matchAll(/^# plants\.ndjson:(\d+) \((.*?)\): [^\n]+\n([^\n]*)\n/gm)].map(
      ([, line, error, text]) => ({ line: Number(line), error, text }),
    );
  return { file, failed, failedText, list: async () => (await readdir(folder)).sort() };
};

describe('plant add', () => {
  test('stores and prints a plant whose id is the largest int64; rejects a different plant with that id, and a larger id', async () => {
    const id = String(maxId);
    const stdout = `{"id":${id},"name":"Swiss cheese plant","tag":"climber"}\n`;
    const printed = { code: 0, stdout, stderr: '' };
    expect(await add('--id', id, '--name', 'Swiss cheese plant', '--tag', 'climber')).toEqual(printed);
    expect(await store.read(id)).toEqual(item(id, 'Swiss cheese plant', 'climber'));
    const stderr =
      /^The plant is not stored \(40901\): the id belongs to a plant with other content \[request \S+\]\n$/;
    const conflict = { code: 1, stdout: '', stderr: expect.stringMatching(stderr) };
    expect(await add('--id', id, '--name', 'Moss')).toEqual(conflict);
    const beyond = await add('--id', String(maxId + 1n), '--name', '');
    expect(beyond).toMatchObject({ code: 1, stderr: expect.stringContaining('(40002): id must be an integer from') });
  });

  test('sends the token in ACCESS_TOKEN to the service at --url', async () => {
    const { baseUrl, received } = await startScriptedService(answer(200, { name: 'Moss' }));
    const { ended } = startIn({ ACCESS_TOKEN: 'a.b.c' }, 'add', '--id', newId(), '--name', 'Moss', '--url', baseUrl);
    expect(await ended).toMatchObject({ code: 0, stderr: '' });
    expect(received).toMatchObject([{ authorization: 'Bearer a.b.c' }]);
  });

  test('neither sends nor prints the value of ACCESS_TOKEN if that value has a space', async () => {
    const { baseUrl, received } = await startScriptedService(answer(200, { name: 'Moss' }));
    const { ended } = startIn({ ACCESS_TOKEN: 'two words' }, 'add', '--id', '1', '--name', 'Moss', '--url', baseUrl);
    const stderr = 'ACCESS_TOKEN or --token must be the token alone: no spaces, no line breaks, no "Bearer".\n';
    expect(await ended).toEqual({ code: 1, stdout: '', stderr });
    expect(received).toEqual([]);
  });
});

/**
 * Reads the counts that an import prints. `stored` is the sum of new plants and those already there, because a second
 * attempt finds the plant there if the response to the first was lost.
 */
const countsIn = (stdout: string) => {
  const [, added = '', there = '', failed] = /^(\d+) new, (\d+) already there, (\d+) failed/.exec(stdout) ?? [];
  return { stored: Number(added) + Number(there), failed: Number(failed) };
};

describe('plant import', () => {
  test('stores as many of 200 lines as possible, although the store sometimes fails, and reports the lines that it could not store', async () => {
    // Leave out the plant with the largest int64 as its id, because another test stores a plant with that id.
    const plants = somePlants(201, 7)
      .filter(({ id }) => id !== maxId)
      .slice(0, 200);
    const lines = plants.map(toJson);
    const [unavailable, conflict] = [String(plants[10]?.id), plants[20]];
    for (const { id } of plants.slice(40, 50)) {
      store.fail(String(id), onFirstRequest(dynamoDbError(500, 'InternalServerError')));
    }
    store.fail(unavailable, dynamoDbError(500, 'InternalServerError'));
    await add('--id', String(conflict?.id), '--name', 'another');
    lines[100] = '{"id":1,';
    lines[101] = '{"id":"1","name":"Moss"}';
    lines[102] = '';
    const { file, failed, failedText } = await ndjson(lines.join('\n'));
    const sizeBefore = await store.size();
    // On a busy machine, an import may end early, because no response comes within ten seconds. Then repeat it.
    const { code, stdout, stderr } = await retryWhile(
      async () => {
        await rm(`${file}.failed.ndjson`, { force: true });
        return await plant('import', file);
      },
      (ended) => ended.stderr !== '',
    );
    const failures = await failed();
    const text = await failedText();
    // On a busy machine, any line that is sent may also fail because the store or a function is too slow.
    const orLate = (error: string) => expect.stringMatching(new RegExp(`^(${error}|50301|gateway)$`));
    const late = failures.filter(({ line }) => ![11, 21, 101, 102].includes(line));
    expect(late).toEqual(late.map((failure) => ({ ...failure, error: orLate('50301') })));
    const notSentAgain = late.filter(({ line }) => line > 40 && line <= 50);
    expect(notSentAgain.length, 'lines that failed at their first request only').toBeLessThan(10);
    expect(failures.filter((failure) => !late.includes(failure))).toEqual([
      { line: 11, error: orLate('50301'), text: lines[10] },
      { line: 21, error: orLate('40901'), text: lines[20] },
      { line: 101, error: 'not sent', text: lines[100] },
      { line: 102, error: orLate('40002'), text: lines[101] },
    ]);
    expect({ code, stderr }).toEqual({ code: 1, stderr: '' });
    expect(countsIn(stdout)).toEqual({ stored: 195 - late.length, failed: 4 + late.length });
    expect(stdout).toContain(`: see ${file}.failed.ndjson\n`);

    // The imported file now has only its first 20 lines and the lines in `late`. Run `plant import` again, from that
    // file's folder: it must store no plant twice, and lose no line of the file of failed lines.
    store.fail(unavailable);
    const again = [...lines.slice(0, 20), ...late.map((failure) => failure.text)];
    await writeFile(file, again.join('\n'));
    const line = `cd '${path.dirname(file)}' && npm --prefix '${process.cwd()}' run -s plant -- import plants.ndjson`;
    const second = await retryWhile(
      () => run('sh', ['-c', line], { DATA_DIR }).ended,
      (ended) => ended.code !== 0,
    );
    expect(second.code).toBe(0);
    expect(countsIn(second.stdout)).toEqual({ stored: again.length, failed: 0 });
    expect(await store.size(), 'items in the store').toBe(sizeBefore + 196);
    expect((await failedText()).startsWith(text), 'the file has the old failures').toBe(true);
    const { id = 0n, name = '', tag } = plants[199] ?? {};
    expect(await store.read(String(id))).toEqual(item(String(id), name, tag));
  });

  test('stops on SIGTERM, prints the command to continue, and keeps the failed lines of this import and of an earlier one', async () => {
    const { file, failed, list } = await ndjson(`no JSON\n${'{"id":1,"name":"Moss"}\n'.repeat(1000)}`, {
      earlier: earlierFailure,
    });
    const { baseUrl, received } = await startScriptedService(answer(200, { name: 'Moss' }), () => {});
    const { child, ended } = start('import', file, '--url', baseUrl, '--token', 'a.b.c');
    await until(async () => received.length > 16 && (await failed()).length > 1);
    child.kill('SIGTERM');
    const stderr =
      /^Stopped: [01] new, 0 already there, 1 failed so far\. To go on: .*\/plants\.ndjson --from [23] --url /;
    expect(await ended).toEqual({ code: 130, stdout: '', stderr: expect.stringMatching(stderr) });
    expect(await failed()).toMatchObject([{ line: 7 }, { line: 1, error: 'not sent', text: 'no JSON' }]);
    expect(await list()).toEqual(['plants.ndjson', 'plants.ndjson.failed.ndjson']);
  });

  test('keeps the file of failed lines if the terminal closes', async () => {
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

  test('keeps the failed lines of an earlier import if the file to import has only a blank line', async () => {
    const { file, failedText } = await ndjson('\n', { earlier: earlierFailure });
    expect(await plant('import', file, '--url', 'http://127.0.0.1:9', '--token', 'a.b.c')).toMatchObject({ code: 0 });
    expect(await failedText()).toBe(earlierFailure);
  });

  const here = ['--token', 'a.b.c', '--url'];

  describe('keeps the failed lines of an earlier import, says what is wrong, and exits with code 1', () => {
    const line = '{"id":1,"name":"Moss"}\n';

    test.each<[what: string, args: (url: string) => string[], sentence: RegExp]>([
      ['--url is not a URL', () => [...here, 'plants'], /It must be a URL such as https:\/\/host.example\n/],
      [
        'the token is missing',
        (url) => ['--url', url],
        /^--url needs an access token: set ACCESS_TOKEN, or give --token\.\n$/,
      ],
      [
        'a token has a line break',
        (url) => ['--token', 'a\nb', '--url', url],
        /^ACCESS_TOKEN or --token must be the token alone/,
      ],
      [
        'the server at --url is not a Plant Store',
        (url) => [...here, url],
        /^No Plant Store answers at \S+ \(404\): check --url\.\n0 new, /,
      ],
    ])('if %s', async (_, args, sentence) => {
      const { file, failedText, list } = await ndjson(line, { earlier: earlierFailure });
      const { baseUrl } = await startScriptedService(answer(404, { message: 'no' }));
      const stderr = expect.stringMatching(sentence);
      expect(await plant('import', file, ...args(baseUrl))).toEqual({ code: 1, stdout: '', stderr });
      expect(await failedText()).toBe(earlierFailure);
      expect(await list()).toEqual(['plants.ndjson', 'plants.ndjson.failed.ndjson']);
    });

    test('if a line is longer than 1 MiB', async () => {
      const { file, failedText } = await ndjson('x'.repeat(1_100_000), { earlier: earlierFailure });
      const { code, stderr } = await plant('import', file, ...here, 'http://127.0.0.1');
      expect({ code, stderr }).toEqual({
        code: 1,
        stderr: expect.stringMatching(/^Line 1 is over 1 MiB.*\n0 new, /),
      });
      expect(await failedText()).toBe(earlierFailure);
    });

    test('if no server answers at --url', async () => {
      const { file, failedText } = await ndjson(line, { earlier: earlierFailure });
      const closed = createServer();
      const url = `http://127.0.0.1:${await listen(closed, 0)}`;
      await closeServer(closed);
      const { code, stderr } = await plant('import', file, ...here, url);
      expect(code, 'exit code').toBe(1);
      const sentence = `Nothing answers at ${url} (connect ECONNREFUSED ${url.slice(7)}): check --url, or start the service: npm start`;
      expect(stderr.split('\n')).toEqual([
        sentence,
        expect.stringMatching(/^0 new, 0 already there, 0 failed so far\. Run it again/),
        '',
      ]);
      expect(await failedText()).toBe(earlierFailure);
    });

    test('if no local service is running or the file to import does not exist', async () => {
      const { file, failedText } = await ndjson(line, { earlier: earlierFailure });
      const folder = path.dirname(file);
      const { code, stderr } = await startIn({ DATA_DIR: folder }, 'import', file).ended;
      const sentence = `No local service is running with its data in ${folder}. Start it (npm start), or set DATA_DIR to its data folder.\n`;
      expect({ code, stderr }).toEqual({ code: 1, stderr: sentence });
      await rm(file);
      const gone = await plant('import', file);
      expect(gone).toMatchObject({ code: 1, stderr: expect.stringContaining(`There is no file ${file}: name a file`) });
      expect(await failedText()).toBe(earlierFailure);
    });

    test('if the service refuses the token, after which the import sends no further lines', async () => {
      const { file, failedText } = await ndjson(line.repeat(1000), { earlier: earlierFailure });
      const { baseUrl, received } = await startScriptedService(answer(403, { message: 'Forbidden' }));
      const { code, stdout, stderr } = await plant('import', file, ...here, baseUrl);
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
      expect(stderr).toMatch(
        /^The token was refused at \S+ \(403\): get another one.*\n0 new, 0 already there, 0 failed so far\. Run it again: .*\n$/,
      );
      expect(received.length, 'requests').toBeLessThan(100);
      expect(await failedText()).toBe(earlierFailure);
    });
  });
});

describe('npm run plant says what is wrong and exits with code 1', () => {
  test.each<[what: string, args: string[], sentence: RegExp]>([
    ['an id is missing', ['add', '--name', 'Moss'], /^error: required option '--id <integer>' not specified\n/],
    [
      'an id is not an integer',
      ['add', '--id', '1.5', '--name', 'x'],
      /argument '1.5' is invalid. It must be an integer.\n/,
    ],
    [
      'an option is unknown',
      ['add', '--id', '1', '--name', 'Moss', '--colour', 'green'],
      /^error: unknown option '--colour'\n/,
    ],
    ['a command is unknown', ['remove'], /^error: unknown command 'remove'\n/],
    ['a file is a folder', ['import', '/'], /^There is no file \/: name a file/],
  ])('if %s', async (_, args, sentence) => {
    const { code, stdout, stderr } = await plant(...args);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(sentence);
  });

  test.each<[status: number, sentence: RegExp]>([
    [401, /^The token was refused at \S+ \(401\): get another one/],
    [500, /^The plant is not stored \(500: no\): try again later, which is safe\.\n$/],
    [504, /^The plant is not stored \(504: no\): try again later, which is safe\.\n$/],
    [307, /^No Plant Store answers at \S+ \(307\): check --url\.\n$/],
  ])('if a gateway responds with the status %i', async (status, sentence) => {
    const { baseUrl } = await startScriptedService(answer(status, { message: 'no' }));
    const { code, stderr } = await plant('add', '--id', '1', '--name', 'Moss', '--token', 'a.b.c', '--url', baseUrl);
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(sentence) });
  });
});

test.each<[args: string[]]>([[[]], [['add']], [['import']]])('plant %s --help explains the command', async (args) => {
  const { code, stdout, stderr } = await plant(...args, '--help');
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toMatch(/^Usage: npm run -s plant -- /);
  if (args.length > 0) expect(stdout).toContain('ACCESS_TOKEN');
});
