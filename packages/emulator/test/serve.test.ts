/** Tests the options of serve(), and `reload`. usual-stack.e2e.ts sends requests to an API that serve() starts. */
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { strToU8, type Zippable, zipSync } from 'fflate';
import { expect, onTestFinished, test, vi } from 'vitest';
import { type ServeOptions, serve } from '../serve.ts';
import { functionArn, tableArn } from '../served-stack.ts';
import { folderWith, returning, watchThreads } from './kit/one-function.ts';
import { account, jwtAuthorizer, key, resource, type SmallStack, smallStack } from './kit/templates.ts';
import { startServer, stopTimers, temporaryFolder } from './kit/temporary.ts';

/** Makes options that can be served, and a stand-in for a CDK app, whose stacks Api and Api2 can be served. */
const prepare = async () => {
  const folder = await temporaryFolder();
  const { template, assets } = await smallStack(folder, { functions: {} });
  for (const name of ['Api', 'Api2']) await writeFile(`${folder}/${name}.json`, JSON.stringify(template));
  await writeFile(`${folder}/Jobs.json`, '{"Resources":{}}');
  const appOf = async (names: string[]) => {
    const artifacts = names.map((name) => [name, ofStack('', `${name}.json`, { stackName: `Own${name}` })]);
    await writeFile(`${folder}/manifest.json`, JSON.stringify({ artifacts: Object.fromEntries(artifacts) }));
    return { synth: () => ({ directory: folder }) };
  };
  return { options: { template, assets, store: { folder } }, appOf, store: { folder } };
};

const ofStack = (environment: string, templateFile: string, more: object = {}) => ({
  type: 'aws:cloudformation:stack',
  environment,
  properties: { templateFile, ...more },
});

test.each([
  [{ template: undefined }, 'The stack is missing: pass '],
  [{ store: undefined }, 'The store is missing: pass '],
  [{ assets: '/nowhere' }, 'The folder of the assets, /nowhere, does not exist.'],
  [{ enviroment: {} }, 'The option enviroment is unknown. The options are app, stack, template, '],
  [{ toString: true }, 'The option toString is unknown. '],
  [{ app: 'app.js' }, "The option app must be a CDK app, not 'app.js'."],
  [{ store: {} }, 'The option store must be { folder } or { endpoint }, not {}.'],
  [{ leaveOut: 'no' }, "The option leaveOut must be a boolean, not 'no'."],
  [{ maxInstances: 0 }, 'The option maxInstances must be a whole number above 0, not 0.'],
  [{ port: Number('x') }, 'The option port must be a whole number from 0 to 65535, not NaN.'],
  [{ port: 65_536 }, 'The option port must be a whole number from 0 to 65535, not 65536.'],
  [{ store: { folder: 7 } }, 'The option store.folder must be a string, not 7.'],
  [{ store: { folder: 'a', endpoint: 'b' } }, 'The option store must be { folder } or { endpoint }, not {'],
  [{ certificates: 'PEM' }, "The option certificates must be a list, not 'PEM'."],
  [{ certificates: ['x'] }, "The option certificates.0 must be a certificate (PEM), not 'x'."],
  [{ stack: 1 }, 'The option stack must be a string, not 1.'],
  [{ environment: { One: { COUNT: 1 } } }, 'The option environment.One.COUNT must be a string, not 1.'],
  [{ environment: { One: ['a'] } }, "The option environment.One must be an object, not [ 'a' ]."],
  [{ onRequest: 'log' }, 'The option onRequest must be a function, '],
  [{ jwt: { issuer: 'https://issuer.example', audience: [1] } }, 'The option jwt.audience.0 must be a string, not 1.'],
  [{ jwt: { audience: ['a'] } }, 'The option jwt must be { issuer: "...", '],
  [
    { jwt: { issuer: 'https://issuer.example', jwks: { keys: [{ kty: 'RSA' }] } } },
    'The option jwt.jwks.keys.0 must be ',
  ],
  [{ jwt: { issuer: 'https://issuer.example', jwk: {} } }, 'The option jwt.jwk is unknown. The options are issuer, '],
  [
    { jwt: { issuer: 'https://issuer.example', jwks: { keys: ['k'] } } },
    'The option jwt.jwks.keys.0 must be a public key (JWK), ',
  ],
  [{ jwt: { issuer: 'https://issuer.example', jwks: [] } }, 'The option jwt.jwks must be { keys: [...] }, not [].'],
  [{ jwt: { issuer: 'https://issuer.example', jwks: {} } }, 'The option jwt.jwks must be { keys: [...] }, not {}.'],
])('serve rejects options with %j', async (change, message) => {
  const { options } = await prepare();
  await expect(serve({ ...options, ...change } as unknown as ServeOptions)).rejects.toThrow(message);
});

type Options = Partial<Pick<ServeOptions, 'environment' | 'jwt' | 'leaveOut' | 'onRequest'>>;

const start = async (stack: SmallStack, options: Options = {}) => {
  const folder = await temporaryFolder();
  const served = { ...(await smallStack(folder, stack)), store: { folder: `${folder}/data` } };
  const emulator = await serve({ ...served, ...options });
  onTestFinished(() => emulator.close());
  return {
    folder,
    emulator,
    ask: async (path: string): Promise<string> => (await fetch(emulator.url + path)).text(),
    reload: async (changed: SmallStack) => emulator.reload(await smallStack(folder, changed)),
  };
};

/** A stack whose only function returns `one`. */
const one: SmallStack = { functions: { One: returning('one') } };

test('serve rejects functions with different time zones, because the threads of a process share one', async () => {
  const stack = { functions: { ...one.functions, Two: returning('two') } };
  const serving = (TZ: string) => start(stack, { environment: { Two: { TZ } } });
  await expect(serving('Asia/Tokyo')).rejects.toThrow('UTC (One), Asia/Tokyo (Two)');
  vi.stubEnv('TZ', 'Asia/Tokyo');
  await serving(':UTC');
  expect(process.env['TZ']).toBe('UTC');
});

test('serve and reload reject an issuer that no JWT authorizer of the stack trusts, because it would have no effect', async () => {
  const trusting = (issuer: string): SmallStack => {
    const Jwt = jwtAuthorizer(issuer, ['shop']);
    return { ...one, changes: { Jwt, OneRoute: { AuthorizationType: 'JWT', AuthorizerId: { Ref: 'Jwt' } } } };
  };
  const jwt = { issuer: 'https://own.example' };
  const untrusted =
    "The option jwt has the issuer https://own.example, but the stack's JWT authorizers trust https://other.example.";
  await expect(start(trusting('https://other.example'), { jwt })).rejects.toThrow(untrusted);
  const { reload } = await start(trusting('https://own.example'), { jwt });
  await expect(reload(trusting('https://other.example'))).rejects.toThrow(untrusted);
  await reload(one);
});

test('serve rejects a port that is in use, names the port in the error, and stops what was already started', async () => {
  const port = await startServer(createServer());
  const { options } = await prepare();
  await expect(serve({ ...options, port })).rejects.toThrow(
    `Port ${port} is in use. Stop the program that uses it, or choose another one; 0 means any free port.`,
  );
  await (await serve(options)).close();
});

test.each<[names: string[], stack: { stack?: string }, failure?: string]>([
  [['Jobs', 'Api'], { stack: 'Api' }],
  [['Jobs', 'Api'], { stack: 'OwnApi' }],
  [['Jobs', 'Api'], {}],
  [[], {}, 'The app must have one stack with an HTTP API, but it has none. '],
  [
    ['Api', 'Api2'],
    {},
    'must have one stack with an HTTP API, but it has Api, Api2. Pass the name of one as `stack` (--',
  ],
  [['Jobs', 'Api'], { stack: 'Ape' }, 'The app has no stack Ape, but it has Jobs, Api. '],
])('serve serves one stack: with the stacks %j and the options %j, it fails with %s', async (names, stack, failure) => {
  const { appOf, store } = await prepare();
  const serving = serve({ app: await appOf(names), ...stack, store });
  if (failure !== undefined) return expect(serving).rejects.toThrow(failure);
  return (await serving).close();
});

/** Code of a function that answers with `text` and the number of its calls so far. */
const counting = (text: string): string => `let calls = 0; exports.handler = async () => \`${text} \${++calls}\``;

/** Code of a handler whose result a test lets it return: `connect` is code that connects to the test. */
const waiting = (connect: string, answer: string): string =>
  `exports.handler = () => new Promise((resolve) => ${connect}.on('data', async () => resolve(${answer})));`;

const mayGetItem = { Effect: 'Allow', Action: 'dynamodb:GetItem', Resource: '*' };
const Items = resource('AWS::DynamoDB::Table', key);
/** An expression: 'found none', or the name of the error with which the store refuses to read the table Items. */
const getItem = `await new (require('@aws-sdk/client-dynamodb').DynamoDB)()
  .getItem({ TableName: 'Items', Key: { id: { N: '1' } } }).then(() => 'found none', (error) => error.name)`;

test("a stack runs in its account and region, which the assets' manifest says", async () => {
  const folder = await temporaryFolder();
  const stack = await smallStack(folder, {
    functions: {
      One: `exports.handler = async (event, context) =>
        [event.requestContext.accountId, process.env.AWS_REGION, context.invokedFunctionArn, ${getItem}];`,
    },
    statements: [{ ...mayGetItem, Resource: tableArn(account, 'Items') }],
    changes: { Items },
  });
  await writeFile(`${folder}/own.json`, JSON.stringify(stack.template));
  const Own = ofStack(`aws://${account.id}/${account.region}`, 'own.json');
  await writeFile(`${folder}/manifest.json`, JSON.stringify({ artifacts: { Own } }));
  const { url, close } = await serve({ ...stack, store: { folder: `${folder}/data` } });
  onTestFinished(close);
  const { id, region } = account;
  expect(await (await fetch(`${url}/One`)).json()).toEqual([id, region, functionArn(account, 'One'), 'found none']);
});

test('reload replaces the routes, the CORS configuration, and functions whose code or settings changed', async () => {
  const [Two, Same] = [counting('two'), counting('same')];
  const { emulator, ask, reload } = await start({ functions: { One: returning('one'), Two, Same } });
  const { url } = emulator;
  expect(await Promise.all(['/Two', '/Same'].map(ask))).toEqual(['two 1', 'same 1']);
  await reload({
    functions: { Two: counting('second'), Same, Three: returning('three') },
    changes: { Api: { CorsConfiguration: { AllowOrigins: ['https://shop.example'] } } },
  });
  const answers = await Promise.all(['/One', '/Two', '/Same', '/Three'].map(ask));
  expect(answers).toEqual(['{"message":"Not Found"}', 'second 1', 'same 2', 'three']);
  const functionNames = ['Two', 'Same', 'Three'];
  expect(emulator).toMatchObject({ url, routeKeys: functionNames.map((name) => `GET /${name}`) });
  expect(emulator.stack.functions.map(({ name }) => name)).toEqual(functionNames);
  const { headers } = await fetch(`${url}/Two`, { headers: { origin: 'https://shop.example' } });
  expect(headers.get('access-control-allow-origin')).toBe('https://shop.example');
  await reload({ functions: { Same }, statements: [mayGetItem] });
  expect(await ask('/Same'), 'with another role').toBe('same 1');
});

test('swap replaces the code and variables of one function, unless the code cannot be loaded', async () => {
  const code = "exports.handler = async () => process.env.VERSION ?? 'old'";
  const { emulator, ask } = await start({ functions: { One: code, Two: counting('two') } });
  await ask('/Two');
  const swap = async (text: string, VERSION: string) =>
    emulator.swap('One', await folderWith({ 'index.js': text }), { VERSION });
  const swapping = swap("throw new Error('no table')", 'broken');
  await expect(swapping).rejects.toThrow(/: Error: no table\nOne ERROR .*index\.js/s);
  expect(await ask('/One')).toBe('old');
  await swap(code, 'new');
  expect([await ask('/One'), await ask('/Two')]).toEqual(['new', 'two 2']);
});

test('swap loads code again from the same folder, and reload replaces that code by the code of the stack', async () => {
  const { emulator, ask, reload } = await start(one);
  const folder = await folderWith({ 'index.js': returning('built') });
  await emulator.swap('One', folder);
  await writeFile(`${folder}/index.js`, returning('built again'));
  await emulator.swap('One', folder);
  expect(await ask('/One')).toBe('built again');
  await reload(one);
  expect(await ask('/One')).toBe('one');
});

test('swap loads the new code in one thread, whether the old code was loaded or not', async () => {
  const { emulator, ask } = await start(one);
  const { connect, connections } = await watchThreads();
  for (const threads of [1, 2]) {
    await emulator.swap('One', await folderWith({ 'index.js': `${connect}; ${returning('new')}` }));
    expect([await ask('/One'), connections()]).toEqual(['new', threads]);
  }
});

test('swap and invoke reject if the function does not exist', async () => {
  const { emulator } = await start(one);
  const message = 'The stack has no function Other. It has One.';
  await expect(emulator.swap('Other', await folderWith({}))).rejects.toThrow(message);
  await expect(emulator.invoke('Other', {})).rejects.toThrow(message);
});

test('reload empties the cache of an authorizer', async () => {
  const cached = (isAuthorized: boolean): SmallStack => ({
    functions: { Authorizer: `exports.handler = async () => ({ isAuthorized: ${isAuthorized} })`, ...one.functions },
    changes: { AuthorizerOfApi: { AuthorizerResultTtlInSeconds: 3_600, IdentitySource: ['$context.routeKey'] } },
  });
  const { ask, reload } = await start(cached(true));
  expect(await ask('/One')).toBe('one');
  await reload(cached(false));
  expect(await ask('/One')).toBe('{"message":"Forbidden"}');
});

test('a request in progress during a reload finishes with the old authorizer, function and role, and then the old functions end', async () => {
  const { connect, next, connections } = await watchThreads();
  const allows = '{ isAuthorized: true }';
  const { ask, reload } = await start({
    functions: { Authorizer: waiting(connect, allows), One: waiting(connect, getItem) },
    statements: [mayGetItem],
    changes: { Items },
  });
  const authorizing = next();
  const inProgress = ask('/One');
  const authorizer = await authorizing;
  const answering = (answer: string): string => `exports.handler = async () => (${answer})`;
  const functions = { Authorizer: answering(allows), One: answering(getItem) };
  await reload({ functions, changes: { Items } });
  expect(await ask('/One')).toBe('AccessDeniedException');
  const responding = next();
  authorizer.send();
  const one = await responding;
  one.send();
  expect(await inProgress).toBe('found none');
  await Promise.all([authorizer.ended, one.ended]);
  expect(connections()).toBe(2);
});

test('reload uses the options leaveOut and environment, too', async () => {
  const stackWith = (queueId: string): SmallStack => ({
    functions: { One: 'exports.handler = async () => process.env.NAME' },
    changes: { [queueId]: resource('AWS::SQS::Queue') },
  });
  const options = { leaveOut: true, environment: { One: { NAME: 'one' } } };
  const { emulator, ask, reload } = await start(stackWith('Jobs'), options);
  await reload(stackWith('Tasks'));
  expect(await ask('/One')).toBe('one');
  expect(emulator.stack.leftOut).toEqual([{ resource: 'Tasks (AWS::SQS::Queue)', reason: expect.any(String) }]);
});

const broken = `throw new Error('no setting')`;

test('a function is loaded by its first request, and one that cannot be loaded stops no other', async () => {
  const { connect, connections } = await watchThreads();
  const { emulator, ask } = await start({ functions: { One: `${connect}; ${returning('one')}`, Bad: broken } });
  expect(connections()).toBe(0);
  expect([await ask('/One'), await ask('/Bad')]).toEqual(['one', '{"message":"Internal Server Error"}']);
  const stackTrace = expect.arrayContaining([expect.stringContaining('index.js:1:7')]);
  const log = [{ level: 'ERROR', message: { stackTrace } }];
  expect(emulator.log[1]).toMatchObject({ status: 500, error: 'Bad: Error: no setting', log });
  const failure = /^The function Bad .* cannot be loaded: Error: no setting\nBad ERROR .*index\.js:1:7/s;
  await expect(emulator.warmUp()).rejects.toThrow(failure);
});

test('reload loads what replaces a loaded function and, after warmUp, new functions too, but nothing that is unchanged', async () => {
  const lazy = await start({ functions: { One: returning('one'), Bad: broken } });
  await lazy.ask('/One');
  await lazy.reload({ functions: { One: returning('two'), Bad: `${broken};`, Worse: broken } });
  expect(await lazy.ask('/One')).toBe('two');
  await expect(lazy.reload({ functions: { One: broken } })).rejects.toThrow('The function One');
  await lazy.emulator.warmUp().catch(() => {});
  const functions = { One: returning('three'), Bad: `${broken};;`, Worse: broken };
  await lazy.reload({ functions });
  await expect(lazy.reload({ functions: { ...functions, New: broken } })).rejects.toThrow('The function New');
  expect(await lazy.ask('/One')).toBe('three');
});

/** The attributes of a file in a zip that a Unix system made. */
const unix = (mode: number) => ({ os: 3, attrs: mode << 16 }) as const;

test('zip files, with links and modes, and code in the template are served from folders that close removes', async () => {
  const folder = await temporaryFolder();
  const code = `exports.handler = async () => [require('./lib'), ...['run', 'index.js'].map((name) => require('node:fs').statSync(__dirname + '/..hidden/' + name).mode & 0o777)].join()`;
  const inline = 'exports.handler = async () => __filename';
  const stack = await smallStack(folder, {
    functions: { One: code, Inline: '' },
    changes: { Inline: { Code: { ZipFile: inline } } },
  });
  await zipAsset(folder, code, {
    lib: [strToU8('..hidden'), unix(0o120777)],
    '..hidden/': new Uint8Array(),
    '..hidden/index.js': strToU8('module.exports = __filename'),
    '..hidden/run': [strToU8('#!'), unix(0o100755)],
  });
  const { url, close } = await serve({ ...stack, store: { folder: `${folder}/data` } });
  const files = [];
  for (const name of ['One', 'Inline']) files.push(await (await fetch(`${url}/${name}`)).text());
  expect(files.map((file) => file.replace(/^.*\/http-api-emulator-\w+/, ''))).toEqual([
    `/..hidden/index.js,${0o755},${0o644}`,
    '/index.js',
  ]);
  expect(await readFile(files[1] ?? '', 'utf8')).toBe(inline);
  await close();
  expect(files.map((file) => existsSync(file.replace(/,.*/, '')))).toEqual([false, false]);
});

/** Puts a zip file in the place of the asset with this code; without `files`, a broken one. */
const zipAsset = async (folder: string, code: string, files?: Zippable): Promise<void> => {
  for (const asset of (await readdir(folder)).filter((each) => each.startsWith('asset.'))) {
    if ((await readFile(path.join(folder, asset, 'index.js'), 'utf8')) !== code) continue;
    const zip = files ? zipSync({ 'index.js': strToU8(code), ...files }) : 'PK';
    await writeFile(path.join(folder, `${asset}.zip`), zip);
    await rm(path.join(folder, asset), { recursive: true });
  }
};

test.each<[ending: string, files?: Zippable]>([
  ['../outside.js', { '../outside.js': strToU8('') }],
  ['a/../../outside.js', { 'a/../../outside.js': strToU8('') }],
  ['tmp', { tmp: [strToU8('/tmp'), unix(0o120777)] }],
  ['a/up', { 'a/up': [strToU8('../..'), unix(0o120777)] }],
  ["symlink '.' -> 'a'", { a: [strToU8('.'), unix(0o120777)], 'a/up': [strToU8('..'), unix(0o120777)] }],
  ['up', { 'a/b/top': [strToU8('../..'), unix(0o120777)], up: [strToU8('a/b/top/..'), unix(0o120777)] }],
  ["EISDIR: illegal operation on a directory, open 'a'", { a: strToU8(''), 'a/b': strToU8('') }],
  ['invalid zip data'],
])('a function whose zip cannot be unpacked fails, and leaves no folder: %s', async (ending, files) => {
  vi.stubEnv('TMPDIR', await temporaryFolder());
  const { folder, emulator, ask } = await start({ functions: { Two: returning('two') } });
  await zipAsset(folder, returning('two'), files);
  await ask('/Two');
  const error = expect.stringMatching(/\/asset\.\w+\.zip cannot be unpacked: /);
  expect(emulator.log[0]).toMatchObject({ status: 500, error });
  expect(emulator.log[0]?.error?.slice(-ending.length)).toBe(ending);
  expect((await readdir(os.tmpdir())).filter((each) => each.startsWith('http-'))).toEqual([]);
});

test('if reload rejects a stack, it ends the functions that it has started for it, and serves the old stack', async () => {
  const [good, bad] = [await watchThreads(), await watchThreads()];
  const { ask, reload } = await start({ functions: { Good: counting('old'), Bad: returning('old') } });
  await Promise.all([ask('/Good'), ask('/Bad')]);
  const withQueue = reload({ functions: {}, changes: { Jobs: resource('AWS::SQS::Queue') } });
  await expect(withQueue).rejects.toThrow('Jobs (AWS::SQS::Queue) cannot');
  const loading = Promise.all([good.next(), bad.next()]);
  const functions = {
    Good: `${good.connect}; ${returning('good')}`,
    // The import makes this an ES module, which may wait while it loads.
    Bad: `import 'node:net'; await new Promise((resolve) => ${bad.connect}.on('data', resolve)); throw new Error('bad');`,
  };
  const reloading = expect(reload({ functions })).rejects.toThrow('The function Bad');
  const threads = await loading;
  threads[1].send();
  await Promise.all([reloading, ...threads.map(({ ended }) => ended)]);
  expect(await ask('/Good')).toBe('old 2');
  await reload({ functions: { Good: returning('fixed') } });
  expect(await ask('/Good')).toBe('fixed');
});

test('if two calls of reload overlap, the emulator then serves the stack of the second call', async () => {
  const { ask, emulator, folder } = await start(one);
  // Only what replaces a loaded function is loaded.
  await ask('/One');
  const slow = `Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200); ${returning('slow')}`;
  const stacks = [await smallStack(folder, { functions: { One: slow } })];
  stacks.push(await smallStack(folder, { functions: { One: returning('last') } }));
  await Promise.all(stacks.map((stack) => emulator.reload(stack)));
  expect(await ask('/One')).toBe('last');
});

test('close lets a request in progress end with its own status, and accepts no further request', async () => {
  const { connect, next } = await watchThreads();
  const statuses: number[] = [];
  const onRequest: ServeOptions['onRequest'] = ({ status }) => void statuses.push(status);
  const { emulator } = await start({ functions: { One: waiting(connect, "'late'") } }, { onRequest });
  const running = next();
  const response = fetch(`${emulator.url}/One`);
  const { send, ended } = await running;
  stopTimers();
  const closing = emulator.close();
  await vi.advanceTimersByTimeAsync(2_900);
  await expect(fetch(emulator.url)).rejects.toThrow();
  send();
  const late = await response;
  expect([await late.text(), late.headers.get('connection')]).toEqual(['late', 'close']);
  await Promise.all([closing, ended]);
  expect(statuses).toEqual([200]);
});

test('close ends a request whose client does not send the rest of it, once an authorizer and a function would have timed out', async () => {
  const { emulator, ask } = await start({ ...one, changes: { One: { Timeout: 3 } } });
  const stall = () => {
    const socket = connect(Number(new URL(emulator.url).port), '127.0.0.1').on('error', () => {});
    socket.write('GET /One HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9\r\n\r\n');
    return socket;
  };
  const late = stall();
  const cut = once(stall().resume(), 'close');
  // When this third request is answered, the others have arrived.
  await ask('/');
  stopTimers();
  const closing = emulator.close();
  await vi.advanceTimersByTimeAsync(5_900);
  late.write('all of it');
  expect(await text(late)).toContain('one');
  await vi.advanceTimersByTimeAsync(100);
  await Promise.all([closing, cut]);
});

test('reload rejects if the emulator is closed while a function is being loaded, and ends that function', async () => {
  const { connect, next } = await watchThreads();
  const { emulator, reload } = await start(one);
  await emulator.warmUp();
  const loading = next();
  const code = `import 'node:net'; ${connect}; await new Promise(() => {});`;
  const reloading = expect(reload({ functions: { One: code } })).rejects.toThrow();
  const { ended } = await loading;
  await emulator.close();
  await Promise.all([reloading, ended]);
});
