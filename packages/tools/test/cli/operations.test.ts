/** Tests the commands of the operations, and `import`, with a server whose responses are scripted. */
import { execFileSync } from 'node:child_process';
import { chmod, open, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import tls from 'node:tls';
import { type Operation, parseJson, toJson } from '@lambda-service/client';
import {
  bodyOf,
  createOperation,
  newBody,
  newId,
  operations,
  responseTo as repeatedOf,
} from '@lambda-service/testing/data';
import { startAccount } from '@lambda-service/testing/fake-aws';
import { testFolder } from '@lambda-service/testing/programs';
import { answer, startScriptedService } from '@lambda-service/testing/servers';
import { until } from '@lambda-service/testing/waiting';
import { describe, expect, inject, test } from 'vitest';
import { explain, type Failed, untilRefused } from '../../cli/connection.ts';
import { writeSession } from '../../start/session.ts';
import { optionsFor } from './kit/options-for.ts';
import { runHere } from './kit/run-here.ts';

const start = (args: string[], environment: Record<string, string> = {}) =>
  runHere(args, { ACCESS_TOKEN: '', INIT_CWD: '', ...environment });
const run = (...of: Parameters<typeof start>) => start(...of).ended;

const { scopes, responses } = createOperation;
const [{ status: createdStatus = 200, requires = [] } = {}] = responses;

/** The response to a body. Fields that the service adds have any value. */
const responseTo = (id: string) => ({
  ...Object.fromEntries(requires.map((field) => [field, 'from the service'])),
  ...repeatedOf(id),
});
const created = (id: string) => answer(createdStatus, responseTo(id));
const refused = answer(403, { message: 'Forbidden' });
const token = (text: string) => answer(200, { access_token: text });
const id = newId();
const stored = created(id);
const create = ['create', ...optionsFor(id)];

test('create sends the body to the local service, with a token from the local issuer, and gets a new token if the first is refused', async () => {
  const { baseUrl, received } = await startScriptedService(token('old'), refused, token('new'), stored);
  const DATA_DIR = await testFolder();
  const client = { clientId: 'me', clientSecret: 'shh', scope: scopes.join(' ') };
  const [certificate = ''] = tls.rootCertificates;
  writeSession(DATA_DIR, { url: baseUrl, tokenUrl: `${baseUrl}/token`, ...client, certificate });
  const { code, stdout, stderr } = await run(create, { DATA_DIR, ACCESS_TOKEN: 'x.y.z' });
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(parseJson(stdout)).toEqual(parseJson(toJson({ ...newBody<object>(id), ...responseTo(id) }) ?? ''));
  const fetched = {
    authorization: `Basic ${btoa('me:shh')}`,
    body: String(new URLSearchParams({ grant_type: 'client_credentials', scope: scopes.join(' ') })),
  };
  expect([received[0], received[2]]).toEqual([fetched, fetched]);
  const sent = [received[1], received[3]].map(({ authorization, body } = { authorization: '', body: '' }) => ({
    authorization,
    body: parseJson(body),
  }));
  const body = parseJson(bodyOf(id));
  expect(sent).toEqual([
    { authorization: 'Bearer old', body },
    { authorization: 'Bearer new', body },
  ]);
});

test('create --stack takes the address and tokens from a deployed stack, and gets a new token if the first is refused', async () => {
  const { baseUrl, received } = await startScriptedService(token('old'), refused, token('new'), stored);
  const outputs = { ApiUrl: baseUrl, TokenUrl: baseUrl, ClientId: 'me', UserPoolId: 'pool', Scope: scopes.join(' ') };
  const secret = () => ({ body: { UserPoolClient: { ClientSecret: 'shh' } } });
  const { calls, environment } = await startAccount({ outputs }, secret);
  const { code, stderr } = await run([...create, '--stack', inject('stackName')], {
    ...environment,
    ACCESS_TOKEN: 'x.y.z',
  });
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(calls.map(({ operation }) => operation)).toEqual(['DescribeStacks', 'DescribeUserPoolClient']);
  const basic = `Basic ${btoa('me:shh')}`;
  expect(received.map(({ authorization }) => authorization)).toEqual([basic, 'Bearer old', basic, 'Bearer new']);
});

test('create --stack sends the token in --token or, if the stack trusts another issuer, ACCESS_TOKEN', async () => {
  const { baseUrl, received } = await startScriptedService(stored, stored);
  const outputs = { ApiUrl: baseUrl, Scope: scopes.join(' '), Issuer: 'https://issuer.example' };
  const { environment } = await startAccount({ outputs }, expect.unreachable);
  const stack = ['--stack', inject('stackName')];
  expect((await run([...create, ...stack, '--token', 'a.b.c'], environment)).code).toBe(0);
  expect((await run([...create, ...stack], { ...environment, ACCESS_TOKEN: 'x.y.z' })).code).toBe(0);
  expect(received.map(({ authorization }) => authorization)).toEqual(['Bearer a.b.c', 'Bearer x.y.z']);
});

test('requests whose token is refused at the same time share the next token', async () => {
  const next = [Promise.withResolvers<string>(), Promise.withResolvers<string>(), Promise.withResolvers<string>()];
  let fetched = 0;
  const token = untilRefused(() => next[fetched++]?.promise ?? Promise.reject());
  if (typeof token === 'string') return expect.unreachable();
  const ask = (refused: boolean) => token({ refused });
  const first = [ask(false), ask(false)];
  next[0]?.resolve('old');
  expect(await Promise.all(first)).toEqual(['old', 'old']);
  const second = [ask(true), ask(true), ask(false)];
  next[1]?.resolve('new');
  expect(await Promise.all(second)).toEqual(['new', 'new', 'new']);
  expect([await ask(false), fetched]).toEqual(['new', 2]);
});

test('the help lists a command for each operation, and one for imports', async () => {
  const { stdout } = await run(['--help']);
  for (const { id: operation } of operations) expect(stdout).toMatch(new RegExp(`^  \\S+ +calls ${operation}, `, 'm'));
  expect(stdout).toMatch(/^ {2}import /m);
});

test.each([
  [[], { ACCESS_TOKEN: 'a.b.c' }],
  [['--token', 'a.b.c'], { ACCESS_TOKEN: 'x.y.z' }],
])('create --url sends the body with the given token: %j %j', async (options, environment) => {
  const { baseUrl, received } = await startScriptedService(stored);
  expect((await run([...create, '--url', baseUrl, ...options], environment)).code).toBe(0);
  expect(received).toMatchObject([{ authorization: 'Bearer a.b.c' }]);
  expect(parseJson(received[0]?.body ?? '')).toEqual(parseJson(bodyOf(id)));
});

const noToken = /^--url needs an access token: set ACCESS_TOKEN, or give --token\.\n$/;
const badToken = /^The access token contains a character that tokens cannot contain\.\n$/;

test.each<[what: string, args: string[], sentence: RegExp, environment?: Record<string, string>]>([
  ['a file is a folder', ['import', '/'], /^\/ is a folder: name a file/],
  ['a file is missing', ['import', '/no/such'], /^There is no file \/no\/such: name a file/],
  ['a file is in a file', ['import', '/dev/null/x'], /^There is no file \/dev\/null\/x: name a file/],
  ['a file cannot be read', ['import', `/${'x'.repeat(256)}`], /^\/x+ cannot be read \(ENAMETOOLONG: /],
  ['--url is not a URL', [...create, '--url', 'garden'], /It must be a URL such as https:\/\/host.example\n/],
  ['the token is missing', [...create, '--url', 'http://127.0.0.1:9'], noToken],
  ['a token has a space', [...create, '--url', 'http://127.0.0.1:9'], badToken, { ACCESS_TOKEN: 'two words' }],
  ['--url is beside --stack', [...create, '--url', 'http://x', '--stack', 'y'], /^Give --url or --stack, not both/],
  ['a token is not for --url', [...create, '--token', 'a.b.c'], /^--token also needs --url/],
])('a command says what is wrong and exits with code 1 if %s', async (_, args, sentence, environment) => {
  const ended = await run(args, { DATA_DIR: '/nowhere', ...environment });
  expect(ended).toEqual({ code: 1, stdout: '', stderr: expect.stringMatching(sentence) });
});

const requestId = 'QcNvjVNaC1t4m14=';
const gateway = (status: number): Failed => ({ ok: false, error: 'gateway', status, requestId, message: 'no' });
const notFound: Failed = { ok: false, error: 40401, status: 404, requestId, message: 'no thing has this id' };
const tokenRefused: Failed = { ok: false, error: 'token refused', status: 403, requestId, message: 'no' };
const noAnswer: Failed = { ok: false, error: 'no answer', message: 'gone', cause: undefined };

const operation = (method: string, parameters: Operation['parameters'] = []): Operation => ({
  ...{ method, path: '/a', parameters, responses: [], errorCodes: [] },
  ...(['POST', 'PATCH'].includes(method) && { body: {} }),
});
const parameter = { name: 'b', in: 'path', type: 'string', required: true } as const;

test.each<[operation: Operation, result: Failed, sentence: RegExp]>([
  [operation('DELETE'), notFound, /^a failed \(40401\): no thing has this id \[request QcNvjVNaC1t4m14=\]$/],
  [
    operation('GET'),
    noAnswer,
    /^Nothing answers at http:\/\/x \(gone\): check that address or, if it is local, run npm start\.$/,
  ],
  [operation('GET'), tokenRefused, /^The token was refused at http:\/\/x \(403\): get another one .* \[request \S+\]$/],
  [operation('GET'), gateway(431), /^The token was refused at http:\/\/x \(431\): get another one /],
  [operation('PUT'), gateway(413), /^a failed \(413: no\): the request is too large\./],
  [operation('GET'), gateway(307), /^The server at http:\/\/x is another one, .* \(307\): check that address\./],
  [operation('DELETE'), gateway(504), /^a failed \(504: no\): try again later, which is safe\. \[request \S+\]$/],
  [operation('POST'), gateway(503), /: try again later, which is safe\./],
  [operation('GET'), gateway(503), /: try again later, which is safe\./],
  [operation('PUT'), gateway(503), /: try again later, which is safe\./],
  [operation('POST', [parameter]), gateway(503), /: find out if it was done before you try again\./],
  [operation('PATCH'), gateway(503), /: find out if it was done before you try again\./],
])(
  'a command explains how %j failed, with the id of the request if there is one: %j',
  (operation, result, sentence) => {
    expect(explain('a', operation, result, 'http://x')).toMatch(sentence);
  },
);

describe('import', () => {
  const failedFile = 'plants.ndjson.failed.ndjson';
  /** The text of a file of failed lines, as an earlier import would have left it. */
  const earlier = `# plants.ndjson:7 (40901): taken\n${bodyOf(id)}\n`;

  /** Prepares an import: makes a folder that has a file to import, with the text `content`, and the files `others`. */
  const importing = async (content: string, baseUrl: string, others: Record<string, string> = {}) => {
    const INIT_CWD = await testFolder();
    const files = { 'plants.ndjson': content, [failedFile]: earlier, ...others };
    for (const [file, text] of Object.entries(files)) await writeFile(path.join(INIT_CWD, file), text);
    const target = ['--url', baseUrl, '--token', 'a.b.c'];
    return {
      folder: INIT_CWD,
      begin: (file = 'plants.ndjson', ...options: string[]) =>
        start(['import', file, ...target, ...options], { INIT_CWD }),
      list: () => readdir(INIT_CWD),
      failed: (file = failedFile) => readFile(path.join(INIT_CWD, file), 'utf8'),
    };
  };
  const line = `${bodyOf(id)}\n`;
  const notJson = 'the line is not JSON in UTF-8\nno JSON\n';

  test('finds the file in the folder from which the command was called, begins at the line --from, and leaves earlier failed lines alone', async () => {
    const { baseUrl, received } = await startScriptedService(stored);
    const { begin, failed } = await importing(`no JSON\n${line.repeat(2)}`, baseUrl);
    const stdout = '2 new, 0 stored, 0 already there, 0 failed\n';
    expect(await begin('plants.ndjson', '--from', '2').ended).toEqual({ code: 0, stdout, stderr: '' });
    expect(received.map(({ body }) => parseJson(body))).toEqual([parseJson(line), parseJson(line)]);
    expect(await failed()).toBe(earlier);
  });

  test('counts what an attempt may have stored, exits with code 1 if a line fails, and adds that line to the file of failed lines', async () => {
    const repeated = answer(createdStatus, responseTo(id), { 'idempotent-replayed': 'true' });
    const failing = answer(503, { message: 'Service Unavailable' });
    const throttled = answer(429, { message: 'Too Many Requests' });
    const { baseUrl } = await startScriptedService(stored, failing, throttled, repeated);
    const { begin, failed } = await importing(`${line.repeat(4)}no JSON`, baseUrl);
    const stdout = expect.stringMatching(/^1 new, 1 stored, 2 already there, 1 failed: see /);
    expect(await begin().ended).toEqual({ code: 1, stdout, stderr: '' });
    expect(await failed()).toBe(`${earlier}# plants.ndjson:5 (not sent): ${notJson}`);
  });

  test('after Ctrl-C, says where to continue, exits with code 130, and leaves the failed lines of an earlier import unchanged', async () => {
    const { baseUrl, received } = await startScriptedService(stored, stored, () => {});
    const { begin, failed } = await importing(line.repeat(99), baseUrl);
    const { child, ended } = begin();
    await until(() => received.length === 18);
    // On Ctrl-C, the import gets the signal twice: from the terminal and from npm, which forwards it.
    child.emit('SIGINT');
    child.emit('SIGINT');
    const stderr = `Stopped: 2 new, 0 stored, 0 already there, 0 failed so far. To go on with ACCESS_TOKEN set:
npx @lambda-service/tools import plants.ndjson --url ${baseUrl} --from 3\n`;
    expect(await ended).toEqual({ code: 130, stdout: '', stderr });
    expect(received).toHaveLength(18);
    expect(await failed()).toBe(earlier);
  });

  test('stops if the service refuses the token, says why, and keeps the failed lines of an earlier import', async () => {
    const { baseUrl } = await startScriptedService(refused);
    const { begin, failed } = await importing(line.repeat(99), baseUrl);
    const stderr =
      /^The token was refused at \S+ \(403\).*\n0 new, 0 stored, 0 already there, 0 failed so far\. Run it again: /;
    expect(await begin().ended).toEqual({ code: 1, stdout: '', stderr: expect.stringMatching(stderr) });
    expect(await failed()).toBe(earlier);
  });

  test('reads standard input if the file name is -, and appends failed lines to stdin.failed.ndjson', async () => {
    const { baseUrl, received } = await startScriptedService(stored);
    const { begin, failed } = await importing('', baseUrl, { 'stdin.failed.ndjson': earlier });
    const { child, ended } = begin('-');
    child.stdin.end(`${line}no JSON\n`);
    const stdout = expect.stringMatching(/^1 new, 0 stored, 0 already there, 1 failed: see .*stdin\.failed\.ndjson\n$/);
    expect(await ended).toEqual({ code: 1, stdout, stderr: '' });
    expect(received).toHaveLength(1);
    expect(await failed('stdin.failed.ndjson')).toBe(`${earlier}# stdin:2 (not sent): ${notJson}`);
  });

  test.each(['/dev/stdin', '/dev/fd/0'])('reads %s as standard input', async (name) => {
    const { baseUrl, received } = await startScriptedService(stored);
    const { child, ended } = (await importing('', baseUrl)).begin(name);
    child.stdin.end(line);
    expect(await ended).toMatchObject({ code: 0, stderr: '' });
    expect(received).toHaveLength(1);
  });

  test('reads a pipe to its end, and appends failed lines to stdin.failed.ndjson, readable by this user only', async () => {
    const { baseUrl } = await startScriptedService(refused);
    const { folder, begin, failed } = await importing('', baseUrl);
    execFileSync('mkfifo', [path.join(folder, 'pipe')]);
    // With `r+`, this does not wait for a reader.
    await using pipe = await open(path.join(folder, 'pipe'), 'r+');
    await pipe.write(`no JSON\n${line.repeat(2)}`);
    const { ended } = begin('pipe');
    const stderr = expect.stringMatching(/the same input and .*\nnpx @lambda-service\/tools import - .* --from 2\n$/s);
    expect(await ended).toEqual({ code: 1, stdout: '', stderr });
    expect(await failed('stdin.failed.ndjson')).toBe(`# pipe:1 (not sent): ${notJson}`);
    expect((await stat(path.join(folder, 'stdin.failed.ndjson'))).mode & 0o777, 'permissions').toBe(0o600);
  });

  test('says in one sentence that a file is in UTF-16, and keeps no line of it', async () => {
    const { folder, begin, failed } = await importing('', 'http://127.0.0.1:9');
    await writeFile(path.join(folder, 'plants.ndjson'), Buffer.from(`\ufeff${line.repeat(9)}`, 'utf16le'));
    const { stderr } = await begin().ended;
    expect(stderr).toMatch(/^The input is not text in UTF-8, .*: convert it first\.\n0 new, .* 0 failed so far/);
    expect(await failed()).toBe(earlier);
  });

  test('stops on SIGTERM even while it waits for a line from standard input', async () => {
    const { begin, failed } = await importing('', 'http://127.0.0.1:2');
    const { child, ended } = begin('-');
    child.stdin.write('no JSON\n'.repeat(2));
    // A line is counted only after it was added to the file: so is the first line, but perhaps not yet the second.
    await until(async () => (await failed('stdin.failed.ndjson').catch(() => '')).includes('stdin:2'));
    child.emit('SIGTERM');
    const stderr = expect.stringMatching(
      /To go on with the same input and ACCESS_TOKEN set:\nnpx @lambda-service\/tools import - .* --from [23]$/m,
    );
    expect(await ended).toMatchObject({ code: 130, stderr });
  });

  describe('of a file of failed lines', () => {
    test('keeps in the file, with its permissions, the lines that fail again, and deletes the file once all lines are stored', async () => {
      const { baseUrl, received } = await startScriptedService(stored);
      // The user has saved the file without a final line break.
      const { folder, begin, failed, list } = await importing(line, baseUrl, { [failedFile]: `${earlier}nö JSON` });
      const file = path.join(folder, failedFile);
      await chmod(file, 0o600);
      expect((await begin(failedFile).ended).stdout).toMatch(/^1 new, 0 stored, 0 already there, 1 failed: see /);
      expect(await failed()).toBe(`\n# ${failedFile}:3 (not sent): the line is not JSON in UTF-8\nnö JSON\n`);
      expect((await stat(file)).mode & 0o777, 'permissions').toBe(0o600);
      expect(await list()).toEqual(['plants.ndjson', failedFile]);
      expect(received.map(({ body }) => parseJson(body))).toEqual([parseJson(bodyOf(id))]);
      const fixed = await importing(line, baseUrl);
      expect(await fixed.begin(failedFile).ended).toMatchObject({ code: 0, stderr: '' });
      expect(await fixed.list()).toEqual(['plants.ndjson']);
    });

    test('keeps the remaining lines in the file if the terminal closes', async () => {
      const { baseUrl, received } = await startScriptedService(stored, () => {});
      const { begin, failed, list } = await importing(line, baseUrl, { [failedFile]: earlier.repeat(20) });
      const { child, ended } = begin(failedFile);
      await until(() => received.length === 17);
      child.stdout.destroy();
      child.stderr.destroy();
      child.emit('SIGHUP');
      expect(await ended).toMatchObject({ code: 130 });
      expect(await failed()).toBe(earlier.repeat(19));
      expect(await list()).toEqual(['plants.ndjson', failedFile]);
    });

    test('refuses --from, because the skipped lines would be removed from the file', async () => {
      const { begin, failed } = await importing(line, 'http://127.0.0.1:9');
      const { stderr } = await begin(failedFile, '--from', '2').ended;
      expect(stderr).toMatch(/^--from is not for plants\.ndjson\.failed/);
      expect(await failed()).toBe(earlier);
    });
  });

  test('changes no file that the user has made, even if its name ends in .failed.ndjson', async () => {
    const { baseUrl } = await startScriptedService(stored);
    const own = { 'own.failed.ndjson': line, [failedFile]: `# mine\n${line}`, 'stdin.failed.ndjson': line };
    const { begin, failed, list } = await importing(line, baseUrl, own);
    expect(await begin('own.failed.ndjson').ended).toMatchObject({ code: 0 });
    for (const file of ['plants.ndjson', '-']) {
      const stderr = expect.stringMatching(/^Lines that fail would go to .*, which no import has made: move that file/);
      expect(await begin(file).ended).toEqual({ code: 1, stdout: '', stderr });
    }
    for (const [file, content] of Object.entries(own)) expect(await failed(file)).toBe(content);
    expect(await list()).toHaveLength(4);
  });
});
