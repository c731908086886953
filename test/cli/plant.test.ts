/** Tests `npm run plant` with a server whose responses are scripted; plant.e2e.ts tests it with the local service. */
import { readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
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

describe('npm run plant with the local service', () => {
  /**
   * Starts a server with scripted responses, and writes a session file to a new data folder, so that `plant` takes this
   * server for the local service and for the token issuer.
   */
  const startLocal = async (...script: Parameters<typeof startScriptedService>) => {
    const { baseUrl, received } = await startScriptedService(...script);
    const DATA_DIR = await newFolder();
    const client = { clientId: 'me', clientSecret: 'shh', scope: 'plants/create' };
    const [certificate = ''] = tls.rootCertificates;
    writeSession(DATA_DIR, { url: baseUrl, tokenUrl: `${baseUrl}/token`, ...client, certificate });
    return { DATA_DIR, received };
  };
  const basic = `Basic ${btoa('me:shh')}`;

  test('sends every digit of an id, and a token from the local issuer instead of the token in ACCESS_TOKEN', async () => {
    const { DATA_DIR, received } = await startLocal(answer(200, { access_token: 'a.b.c' }), stored);
    const printed = { code: 0, stdout: '{"id":-9223372036854775807,"name":"Moss"}\n', stderr: '' };
    expect(await plant(moss, { DATA_DIR, ACCESS_TOKEN: 'x.y.z' })).toEqual(printed);
    expect(received).toEqual([
      { authorization: basic, body: 'grant_type=client_credentials&scope=plants%2Fcreate' },
      { authorization: 'Bearer a.b.c', body: '{"id":-9223372036854775807,"name":"Moss"}' },
    ]);
  });

  test('sends the plant again, with a new token, if the service refuses the first token', async () => {
    const token = (text: string) => answer(200, { access_token: text });
    const refused = answer(403, { message: 'Forbidden' });
    const { DATA_DIR, received } = await startLocal(token('old'), refused, token('new'), stored);
    expect((await plant(moss, { DATA_DIR })).code).toBe(0);
    expect(received.map(({ authorization }) => authorization)).toEqual([basic, 'Bearer old', basic, 'Bearer new']);
  });
});

test('npm run plant sends the token in --token to the service at --url, even if ACCESS_TOKEN is set', async () => {
  const { baseUrl, received } = await startScriptedService(stored);
  const args = [...moss, '--url', baseUrl, '--token', 'a.b.c'];
  expect((await plant(args, { ACCESS_TOKEN: 'x.y.z' })).code).toBe(0);
  expect(received).toMatchObject([{ authorization: 'Bearer a.b.c' }]);
});

test.each<[status: number, sentence: RegExp]>([
  [413, /^The plant is too large \(413: no\)\.\n$/],
  [431, /^The token was refused at \S+ \(431\): get another one/],
])(
  'npm run plant explains the status %i of a gateway in one sentence, and exits with code 1',
  async (status, sentence) => {
    const { baseUrl } = await startScriptedService(answer(status, { message: 'no' }, { 'retry-after': '0' }));
    const ended = await plant([...moss, '--url', baseUrl, '--token', 'a.b.c']);
    expect(ended).toEqual({ code: 1, stdout: '', stderr: expect.stringMatching(sentence) });
  },
);

test.each<[status: number, body: object]>([
  [409, { error: 40901, message: 'taken' }],
  [403, { message: 'Forbidden' }],
])(
  'npm run plant prints the request id of a response with the status %i, so that operators can find the cause',
  async (status, body) => {
    const { baseUrl } = await startScriptedService(answer(status, body, { 'apigw-requestid': 'QcNvjVNaC1t4m14=' }));
    const { stderr } = await plant([...moss, '--url', baseUrl, '--token', 'a.b.c']);
    expect(stderr).toMatch(/ \[request QcNvjVNaC1t4m14=\]\n$/);
  },
);

test('npm run plant refuses --token without --url, so that the token does not reach the local service', async () => {
  const { code, stderr } = await plant([...moss, '--token', 'a.b.c'], { DATA_DIR: await newFolder() });
  expect([code, stderr]).toEqual([1, '--token also needs --url, the service that the token is for.\n']);
});

describe('plant import', () => {
  /** The text of a file of failed lines, as an earlier import would have left it. */
  const earlier = '# plants.ndjson:7 (40901): taken\n{"id":3,"name":"Moss"}\n';

  /**
   * Prepares an import: makes a new folder that holds a file to import, with the text `content`, and the files
   * `others`.
   */
  const importing = async (content: string, baseUrl: string, others: Record<string, string> = {}) => {
    const INIT_CWD = await newFolder();
    const files = { 'plants.ndjson': content, 'plants.ndjson.failed.ndjson': earlier, ...others };
    for (const [file, text] of Object.entries(files)) await writeFile(path.join(INIT_CWD, file), text);
    const target = ['--url', baseUrl, '--token', 'a.b.c'];
    return {
      begin: (file = 'plants.ndjson', ...options: string[]) =>
        start(['import', file, ...target, ...options], { INIT_CWD }),
      folder: INIT_CWD,
      list: () => readdir(INIT_CWD),
      failed: (file = 'plants.ndjson.failed.ndjson') => readFile(path.join(INIT_CWD, file), 'utf8'),
    };
  };
  const line = '{"id":9007199254740993,"name":"Moss"}\n';
  const notJson = 'the line is not JSON in UTF-8\nno JSON\n';
  const repeated = answer(200, { name: 'Moss' }, { 'idempotent-replayed': 'true' });

  test('finds the file to import in the folder from which npm was called, and does not change the file of failed lines if no line fails', async () => {
    const { baseUrl, received } = await startScriptedService(stored);
    const { begin, failed } = await importing(line.repeat(2), baseUrl);
    const stdout = '2 new, 0 already there, 0 failed\n';
    expect(await begin().ended).toEqual({ code: 0, stdout, stderr: '' });
    expect(received.map(({ body }) => `${body}\n`)).toEqual([line, line]);
    expect(await failed()).toBe(earlier);
  });

  test('exits with code 1 if a line fails, and adds that line to the file of failed lines only once, even if it fails again', async () => {
    const { baseUrl } = await startScriptedService(stored, repeated);
    const { begin, failed } = await importing(`${line.repeat(3)}no JSON`, baseUrl);
    const stdout = expect.stringMatching(/^1 new, 2 already there, 1 failed: see /);
    expect(await begin().ended).toEqual({ code: 1, stdout, stderr: '' });
    expect(await failed()).toBe(`${earlier}# plants.ndjson:4 (not sent): ${notJson}`);
    expect(await begin().ended).toMatchObject({ code: 1, stdout: expect.stringContaining(', 1 failed: see ') });
    expect(await failed(), 'after a second import').toBe(`${earlier}# plants.ndjson:4 (not sent): ${notJson}`);
  });

  test('if it imports the original file again, keeps the line that a user has corrected in the file of failed lines, and appends the original line if that fails again', async () => {
    const fixed = `# plants.ndjson:1 (not sent): the line is not JSON in UTF-8\n${line}`;
    const others = { 'plants.ndjson.failed.ndjson': fixed };
    const { baseUrl } = await startScriptedService(stored);
    const { begin, failed } = await importing(`no JSON\n${line}`, baseUrl, others);
    expect((await begin().ended).code).toBe(1);
    expect(await failed()).toBe(`${fixed}# plants.ndjson:1 (not sent): ${notJson}`);
  });

  test('after Ctrl-C, prints the command to continue, exits with code 130, and leaves the file with the failed lines of an earlier import unchanged', async () => {
    const { baseUrl, received } = await startScriptedService(stored, stored, () => {});
    const { begin, failed } = await importing(line.repeat(99), baseUrl);
    const { child, ended } = begin();
    await until(() => received.length === 18);
    // On Ctrl-C, the import gets the signal twice: from the terminal and from npm, which forwards it.
    child.kill('SIGINT');
    child.kill('SIGINT');
    const command = `npm run -s plant -- import plants.ndjson --from 3 --url ${baseUrl} --token ...`;
    const stderr = `Stopped: 2 new, 0 already there, 0 failed so far. To go on: ${command}\n`;
    expect(await ended).toEqual({ code: 130, stdout: '', stderr });
    expect(received).toHaveLength(18);
    expect(await failed()).toBe(earlier);
  });

  test('with --from N skips the lines before line N', async () => {
    const { baseUrl, received } = await startScriptedService(stored);
    const { begin } = await importing(`{"id":1}\n${line}`, baseUrl);
    const stdout = '1 new, 0 already there, 0 failed\n';
    expect(await begin('plants.ndjson', '--from', '2').ended).toEqual({ code: 0, stdout, stderr: '' });
    expect(received.map(({ body }) => `${body}\n`)).toEqual([line]);
    expect((await begin('plants.ndjson', '--from', '0').ended).stderr).toContain('the number of a line, from 1');
  });

  test('reads standard input if the file name is -, and appends failed lines to stdin.failed.ndjson', async () => {
    const { baseUrl, received } = await startScriptedService(stored);
    const { begin, failed } = await importing('', baseUrl, { 'stdin.failed.ndjson': earlier });
    const { child, ended } = begin('-');
    child.stdin.end(`${line}no JSON\n`);
    const stdout = expect.stringMatching(/^1 new, 0 already there, 1 failed: see .*stdin\.failed\.ndjson\n$/);
    expect(await ended).toEqual({ code: 1, stdout, stderr: '' });
    expect(received).toHaveLength(1);
    expect(await failed('stdin.failed.ndjson')).toBe(`${earlier}# stdin:2 (not sent): ${notJson}`);
  });

  test('stops on Ctrl-C even while it waits for a line from standard input', async () => {
    const { baseUrl, received } = await startScriptedService(stored);
    const { begin } = await importing('', baseUrl);
    const { child, ended } = begin('-');
    child.stdin.write(line);
    await until(() => received.length === 1);
    child.kill('SIGINT');
    expect(await ended).toMatchObject({
      code: 130,
      stderr: expect.stringContaining('To go on, with the same input: '),
    });
  });

  describe('of a file of failed lines', () => {
    const failedFile = 'plants.ndjson.failed.ndjson';

    test('keeps in the file the lines that fail again, and deletes the file once all lines are stored', async () => {
      const { baseUrl, received } = await startScriptedService(stored);
      const { begin, failed, list } = await importing(line, baseUrl, { [failedFile]: `${earlier}no JSON\n` });
      expect((await begin(failedFile).ended).stdout).toMatch(/^1 new, 0 already there, 1 failed: see /);
      expect(await failed()).toBe(`# ${failedFile}:3 (not sent): ${notJson}`);
      await begin(failedFile).ended;
      expect(await failed(), 'with nothing fixed').toBe(`# ${failedFile}:2 (not sent): ${notJson}`);
      expect(received.map(({ body }) => body)).toEqual(['{"id":3,"name":"Moss"}']);
      const fixed = await importing(line, baseUrl);
      expect(await fixed.begin(failedFile).ended).toMatchObject({ code: 0, stderr: '' });
      expect(await fixed.list()).toEqual(['plants.ndjson']);
      expect(await list()).toEqual(['plants.ndjson', failedFile]);
    });

    test('keeps the remaining lines in the file if the user stops the import', async () => {
      const { baseUrl, received } = await startScriptedService(stored, () => {});
      const { begin, failed } = await importing(line, baseUrl, { [failedFile]: earlier.repeat(20) });
      const { child, ended } = begin(failedFile);
      await until(() => received.length === 17);
      child.kill('SIGINT');
      const stderr = /^Stopped: 1 new, .* so far\. Run it again: the file has the lines that are left\.\n$/;
      expect(await ended).toMatchObject({ code: 130, stderr: expect.stringMatching(stderr) });
      expect(await failed()).toBe(earlier.repeat(19));
    });

    // The import makes a temporary folder beside the file, and begins the folder's name with the file's. This file's
    // name is so long that the folder's would be too long.
    const stuckFile = `${'x'.repeat(236)}.failed.ndjson`;
    const stuck = `The lines that are done are still in .*/${stuckFile} \\(ENAMETOOLONG: .*\\)\\. Make sure .*\\.\\n$`;

    test('says what to do and exits with code 1 if the lines that are now stored cannot be removed from the file', async () => {
      const { baseUrl } = await startScriptedService(stored);
      const { begin, failed } = await importing(line, baseUrl, { [stuckFile]: `${earlier}no JSON\n` });
      const { code, stdout, stderr } = await begin(stuckFile).ended;
      expect({ code, stdout }).toEqual({
        code: 1,
        stdout: expect.stringMatching(/^1 new, 0 already there, 1 failed: /),
      });
      expect(stderr).toMatch(new RegExp(`^${stuck}`));
      expect(await failed(stuckFile)).toBe(`${earlier}no JSON\n# ${stuckFile}:3 (not sent): ${notJson}`);
    });

    test('if it stops early and cannot rewrite the file, says why it stopped, and then that the finished lines are still in the file', async () => {
      const { baseUrl } = await startScriptedService(answer(403, { message: 'Forbidden' }));
      const { begin } = await importing(line, baseUrl, { [stuckFile]: `# x:1 (not sent): ${notJson}${earlier}` });
      const { code, stderr } = await begin(stuckFile).ended;
      expect(code, 'exit code').toBe(1);
      expect(stderr).toMatch(
        new RegExp(`^The token was refused at .*\\n0 new, 0 already there, 1 failed so far\\. ${stuck}`),
      );
    });

    test('refuses --from, because the skipped lines would be removed from the file', async () => {
      const { begin, failed } = await importing(line, 'http://127.0.0.1:9');
      expect((await begin(failedFile, '--from', '2').ended).stderr).toMatch(
        /^--from is not for plants\.ndjson\.failed/,
      );
      expect(await failed()).toBe(earlier);
    });
  });

  test('sends U+FFFD as an escape, because the gateway puts U+FFFD in the place of bytes that are not UTF-8', async () => {
    const { baseUrl, received } = await startScriptedService(answer(200, { name: '\ufffd' }));
    const { begin } = await importing('{"id":1,"name":"\ufffd"}\n', baseUrl);
    expect(await begin().ended).toMatchObject({ code: 0, stderr: '' });
    expect(received.map(({ body }) => body)).toEqual(['{"id":1,"name":"\\ufffd"}']);
  });

  test('changes no file that the user has made, even if its name ends in .failed.ndjson', async () => {
    const { baseUrl } = await startScriptedService(stored);
    const own = { 'own.failed.ndjson': line, 'plants.ndjson.failed.ndjson': line, 'stdin.failed.ndjson': line };
    const { begin, failed, list } = await importing(line, baseUrl, own);
    expect(await begin('own.failed.ndjson').ended).toMatchObject({ code: 0 });
    for (const file of ['plants.ndjson', '-']) {
      const stderr = expect.stringMatching(/^Lines that fail would go to .*, which no import has made: move that file/);
      expect(await begin(file).ended).toEqual({ code: 1, stdout: '', stderr });
    }
    for (const file of Object.keys(own)) expect(await failed(file)).toBe(line);
    expect(await list()).toHaveLength(4);
  });

  test('sends nothing if failed lines would go through a symbolic link, which could lead to a file that does not exist yet', async () => {
    const { baseUrl, received } = await startScriptedService(stored);
    const { begin, folder, list } = await importing('$(touch pwned)\n', baseUrl);
    await rm(path.join(folder, 'plants.ndjson.failed.ndjson'));
    await symlink('profile', path.join(folder, 'plants.ndjson.failed.ndjson'));
    const stderr = expect.stringMatching(/^Lines that fail would go to .*, which no import has made: move that file/);
    expect(await begin().ended).toEqual({ code: 1, stdout: '', stderr });
    expect(received).toEqual([]);
    expect(await list()).toEqual(['plants.ndjson', 'plants.ndjson.failed.ndjson']);
  });

  test.each<[content: string, looks: string]>([
    ['id,name\n1,Moss\n', ', but perhaps CSV'],
    ['[{"id":1,"name":"Moss"}]', ', but a JSON array'],
    ['[\n  {\n    "id": 1\n  }\n]\n', ', but a JSON array'],
    ['{\n  "id": 1\n}\n', ''],
  ])('explains the file format if no line is a plant: %j', async (content, looks) => {
    const { begin } = await importing(content, 'http://127.0.0.1:9');
    const { stderr } = await begin().ended;
    expect(stderr).toBe(
      `The input has no plants${looks}. Each line must be one plant in JSON, such as:\n{"id":7,"name":"Moss"}\n`,
    );
  });

  test('explains the file format if the service has rejected all lines as invalid, but not if it has stored a line', async () => {
    const { baseUrl } = await startScriptedService(answer(400, { error: 40002, message: 'id is required' }), stored);
    const { begin } = await importing('{"ID":1}\n', baseUrl);
    expect((await begin().ended).stderr).toContain('. Each line must be one ');
    expect(await (await importing(`no JSON\n${line}`, baseUrl)).begin().ended).toMatchObject({ code: 1, stderr: '' });
  });
});
