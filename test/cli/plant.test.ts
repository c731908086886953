/** Tests `npm run plant` against a scripted service; plant.e2e.ts tests further cases. */
import { readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import tls from 'node:tls';
import { describe, expect, onTestFinished, test } from 'vitest';
import { writeSession } from '../../local/session.ts';
import { run, temporaryFolder } from '../kit/local-service.ts';
import { answer, startScriptedService } from '../kit/scripted-service.ts';
import { until } from '../kit/until.ts';

const newFolder = async () => {
  const { folder, remove } = await temporaryFolder();
  onTestFinished(remove);
  return folder;
};

const start = (args: string[], environment: Record<string, string> = {}) =>
  run(process.execPath, [path.resolve('cli/plant.ts'), ...args], { ACCESS_TOKEN: '', INIT_CWD: '', ...environment });
const plant = (...of: Parameters<typeof start>) => start(...of).ended;

const stored = answer(200, { name: 'Moss' });
const moss = ['add', '--id', '-9223372036854775807', '--name', 'Moss'];

describe('the local service', () => {
  /** Starts a scripted service that is also the token issuer, and writes its session to a new data folder. */
  const startLocal = async (...script: Parameters<typeof startScriptedService>) => {
    const { baseUrl, received } = await startScriptedService(...script);
    const DATA_DIR = await newFolder();
    const client = { clientId: 'me', clientSecret: 'shh', scope: 'plants/create' };
    const [certificate = ''] = tls.rootCertificates;
    writeSession(DATA_DIR, { url: baseUrl, tokenUrl: `${baseUrl}/token`, ...client, certificate });
    return { DATA_DIR, received };
  };
  const basic = `Basic ${btoa('me:shh')}`;

  test('gets a plant exactly, with a token of its issuer instead of ACCESS_TOKEN', async () => {
    const { DATA_DIR, received } = await startLocal(answer(200, { access_token: 'a.b.c' }), stored);
    const printed = { code: 0, stdout: '{"name":"Moss"}\n', stderr: '' };
    expect(await plant(moss, { DATA_DIR, ACCESS_TOKEN: 'x.y.z' })).toEqual(printed);
    expect(received).toEqual([
      { authorization: basic, body: 'grant_type=client_credentials&scope=plants%2Fcreate' },
      { authorization: 'Bearer a.b.c', body: '{"id":-9223372036854775807,"name":"Moss"}' },
    ]);
  });

  test('gets the plant again with a new token if it refuses the first one', async () => {
    const token = (text: string) => answer(200, { access_token: text });
    const refused = answer(403, { message: 'Forbidden' });
    const { DATA_DIR, received } = await startLocal(token('old'), refused, token('new'), stored);
    expect((await plant(moss, { DATA_DIR })).code).toBe(0);
    expect(received.map(({ authorization }) => authorization)).toEqual([basic, 'Bearer old', basic, 'Bearer new']);
  });
});

test('the service at --url gets the token of --token even if ACCESS_TOKEN is set', async () => {
  const { baseUrl, received } = await startScriptedService(stored);
  const args = [...moss, '--url', baseUrl, '--token', 'a.b.c'];
  expect((await plant(args, { ACCESS_TOKEN: 'x.y.z' })).code).toBe(0);
  expect(received).toMatchObject([{ authorization: 'Bearer a.b.c' }]);
});

test.each<[status: number, sentence: RegExp]>([
  [413, /^The plant is too large \(413: no\)\.\n$/],
  [431, /^The token was refused at \S+ \(431\): get another one/],
])('npm run plant reports a %i of a gateway in a sentence, with exit code 1', async (status, sentence) => {
  const { baseUrl } = await startScriptedService(answer(status, { message: 'no' }, { 'retry-after': '0' }));
  const ended = await plant([...moss, '--url', baseUrl, '--token', 'a.b.c']);
  expect(ended).toEqual({ code: 1, stdout: '', stderr: expect.stringMatching(sentence) });
});

test.each<[status: number, body: object]>([
  [409, { error: 40901, message: 'taken' }],
  [403, { message: 'Forbidden' }],
])('npm run plant names the request that failed with a %i, so that its cause can be found', async (status, body) => {
  const { baseUrl } = await startScriptedService(answer(status, body, { 'apigw-requestid': 'QcNvjVNaC1t4m14=' }));
  const { stderr } = await plant([...moss, '--url', baseUrl, '--token', 'a.b.c']);
  expect(stderr).toMatch(/ \[request QcNvjVNaC1t4m14=\]\n$/);
});

test('npm run plant refuses --token without --url, so that the token does not reach the local service', async () => {
  const { code, stderr } = await plant([...moss, '--token', 'a.b.c'], { DATA_DIR: await newFolder() });
  expect([code, stderr]).toEqual([1, '--token also needs --url, the service that the token is for.\n']);
});

describe('plant import', () => {
  const importing = async (content: string, baseUrl: string) => {
    const INIT_CWD = await newFolder();
    await writeFile(path.join(INIT_CWD, 'plants.ndjson'), content);
    const failedFile = path.join(INIT_CWD, 'plants.ndjson.failed.ndjson');
    await writeFile(failedFile, '{"line":7}\n');
    const args = ['import', 'plants.ndjson', '--url', baseUrl, '--token', 'a.b.c'];
    return {
      begin: () => start(args, { INIT_CWD }),
      list: () => readdir(INIT_CWD),
      failed: async () =>
        (await readFile(failedFile, 'utf8'))
          .trimEnd()
          .split('\n')
          .map((line) => JSON.parse(line)),
    };
  };
  const line = '{"id":9007199254740993,"name":"Moss"}\n';

  test('stores the lines of a file in the folder where npm was called, and clears earlier failures', async () => {
    const { baseUrl, received } = await startScriptedService(stored);
    const { begin, list } = await importing(line.repeat(2), baseUrl);
    expect(await begin().ended).toEqual({ code: 0, stdout: '2 stored, 0 failed\n', stderr: '' });
    expect(received.map(({ body }) => `${body}\n`)).toEqual([line, line]);
    expect(await list()).toEqual(['plants.ndjson']);
  });

  test('ends with code 1 if a line fails, and keeps in its file only the failures of this import', async () => {
    const { baseUrl } = await startScriptedService(stored);
    const { begin, failed } = await importing(`${line}no JSON\n`, baseUrl);
    expect(await begin().ended).toMatchObject({ code: 1, stdout: expect.stringMatching(/^1 stored, 1 failed: see /) });
    expect(await failed()).toEqual([{ line: 2, error: 'not sent', message: expect.any(String), text: 'no JSON' }]);
  });

  test('keeps the failures of an earlier import if no line can be sent', async () => {
    const { begin, failed } = await importing('no JSON\n', 'http://127.0.0.1:9');
    expect((await begin().ended).code).toBe(1);
    expect(await failed()).toMatchObject([{ line: 7 }, { line: 1 }]);
  });

  test('says after Ctrl-C that it can be run again, ends with code 130, and keeps earlier failures', async () => {
    const { baseUrl, received } = await startScriptedService(() => {});
    const { begin, failed } = await importing(line.repeat(99), baseUrl);
    const { child, ended } = begin();
    await until(() => received.length === 16);
    // npm forwards Ctrl-C, so the signal arrives twice.
    child.kill('SIGINT');
    child.kill('SIGINT');
    const stderr = expect.stringMatching(/^Stopped: 0 stored, 0 failed so far\. Run it again/);
    expect(await ended).toEqual({ code: 130, stdout: '', stderr });
    // The import sends no plant after Ctrl-C.
    expect(received).toHaveLength(16);
    expect(await failed()).toEqual([{ line: 7 }]);
  });
});
