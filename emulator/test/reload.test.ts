/** Tests `reload`, which replaces the stack of a running emulator. */
import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { serve } from '../index.ts';
import { listen } from '../listen.ts';
import { smallStack } from './kit/small-stack.ts';
import { temporaryFolder } from './kit/temporary-folder.ts';

/** Code of a function that answers with `text` and the number of its calls so far. */
const counting = (text: string): string => `let calls = 0; exports.handler = async () => \`${text} \${++calls}\``;
const saying = (text: string): string => `exports.handler = async () => ${JSON.stringify(text)}`;

const start = async (stack: Parameters<typeof smallStack>[1]) => {
  const { folder, remove } = await temporaryFolder();
  onTestFinished(remove);
  const emulator = await serve({ ...(await smallStack(folder, stack)), store: { folder: `${folder}/data` } });
  onTestFinished(() => emulator.close());
  return {
    folder,
    emulator,
    ask: async (path: string): Promise<string> => (await fetch(emulator.url + path)).text(),
    reload: async (changed: typeof stack) => emulator.reload(await smallStack(folder, changed)),
  };
};

/** Starts a server for functions to connect to. A closed connection shows that the function's thread has ended. */
const startServer = async (): Promise<{ server: Server; port: number }> => {
  const server = createServer((socket) => socket.on('error', () => {}));
  onTestFinished(() => void server.close());
  return { server, port: await listen(server, 0) };
};

/** Code of a function that, when called, connects to `port` and answers as soon as the server there sends data. */
const waiting = (port: number, answer: string): string => `
  exports.handler = () => new Promise((resolve, reject) => {
    const connection = require('node:net').connect(${port}, '127.0.0.1');
    connection.on('data', async () => resolve(${answer}));
  });`;

const closed = (socket: Socket) => new Promise((resolve) => socket.on('close', resolve).resume());

test('reload replaces the routes, functions and CORS configuration at the same address', async () => {
  const { emulator, ask, reload } = await start({ functions: { One: saying('one'), Two: saying('two') } });
  const { url } = emulator;
  expect(await ask('/One')).toBe('"one"');
  await reload({
    functions: { Two: saying('second'), Three: saying('three') },
    api: { CorsConfiguration: { AllowOrigins: ['https://shop.example'] } },
  });
  expect(await Promise.all(['/One', '/Two', '/Three'].map(ask))).toEqual([
    '{"message":"Not Found"}',
    '"second"',
    '"three"',
  ]);
  expect(emulator).toMatchObject({ url, routeKeys: ['GET /Two', 'GET /Three'], functionNames: ['Two', 'Three'] });
  const { headers } = await fetch(`${url}/Two`, { headers: { origin: 'https://shop.example' } });
  expect(headers.get('access-control-allow-origin')).toBe('https://shop.example');
  await expect(emulator.invoke('One', {})).rejects.toThrow('The stack has no function One.');
});

test('reload replaces a function only if its code or its settings changed', async () => {
  const { ask, reload } = await start({ functions: { Same: counting('same'), Other: counting('old') } });
  await ask('/Same');
  await ask('/Other');
  await reload({ functions: { Same: counting('same'), Other: counting('new') } });
  expect([await ask('/Same'), await ask('/Other')]).toEqual(['"same 2"', '"new 1"']);
  await reload({
    functions: { Same: counting('same'), Other: counting('new') },
    role: [{ Effect: 'Allow', Action: 'dynamodb:GetItem', Resource: '*' }],
  });
  expect([await ask('/Same'), await ask('/Other')]).toEqual(['"same 1"', '"new 1"']);
});

test('reload runs the code of the new stack, even for a function whose code was replaced by swap()', async () => {
  const { emulator, folder, ask, reload } = await start({ functions: { One: saying('one') } });
  const { template } = await smallStack(folder, { functions: { One: saying('swapped') } });
  const [hash] = /[0-9a-f]{64}/.exec(JSON.stringify(template)) ?? [];
  await emulator.swap('One', `${folder}/asset.${hash}`);
  expect(await ask('/One')).toBe('"swapped"');
  await reload({ functions: { One: saying('one') } });
  expect(await ask('/One')).toBe('"one"');
});

test('a request in progress during a reload finishes with the old authorizer, function and role, and then the old functions end', async () => {
  const { server, port } = await startServer();
  const connections: Socket[] = [];
  server.on('connection', (socket) => connections.push(socket));
  const allows = '{ isAuthorized: true }';
  const getItem = `await new (require('@aws-sdk/client-dynamodb').DynamoDB)()
    .getItem({ TableName: 'Items', Key: { id: { S: 'a' } } }).then(() => 'old', (error) => error.name)`;
  const table = {
    Type: 'AWS::DynamoDB::Table',
    Properties: {
      KeySchema: [{ AttributeName: 'id', KeyType: 'HASH' }],
      AttributeDefinitions: [{ AttributeName: 'id', AttributeType: 'S' }],
    },
  };
  const { ask, reload } = await start({
    functions: { Authorizer: waiting(port, allows), One: waiting(port, getItem) },
    role: [{ Effect: 'Allow', Action: 'dynamodb:GetItem', Resource: '*' }],
    resources: { Items: table },
  });
  const inProgress = ask('/One');
  const [authorizer]: Socket[] = await once(server, 'connection');
  const authorizerEnded = closed(authorizer as Socket);

  const getNow = waiting(port, '').replace(/exports.*/s, `exports.handler = async () => ${getItem}`);
  await reload({
    functions: { Authorizer: `exports.handler = async () => (${allows})`, One: getNow },
    resources: { Items: table },
  });
  expect(await ask('/One')).toBe('"AccessDeniedException"');
  authorizer?.write('finish');
  const [one]: Socket[] = await once(server, 'connection');
  const oneEnded = closed(one as Socket);
  one?.write('finish');
  expect(await inProgress).toBe('"old"');
  await Promise.all([authorizerEnded, oneEnded]);
  expect(connections.length, 'connections').toBe(2);
});

test('reload creates the tables that the changed stack adds', async () => {
  const getItem = `exports.handler = async () => new (require('@aws-sdk/client-dynamodb').DynamoDB)()
    .getItem({ TableName: 'Items', Key: { id: { S: 'a' } } }).then(() => 'found none', (error) => error.name)`;
  const functions = { One: getItem };
  const role = [{ Effect: 'Allow', Action: 'dynamodb:GetItem', Resource: '*' }];
  const { ask, reload } = await start({ functions, role });
  expect(await ask('/One')).toBe('"ResourceNotFoundException"');
  const Items = {
    Type: 'AWS::DynamoDB::Table',
    Properties: {
      KeySchema: [{ AttributeName: 'id', KeyType: 'HASH' }],
      AttributeDefinitions: [{ AttributeName: 'id', AttributeType: 'S' }],
    },
  };
  await reload({ functions, role, resources: { Items } });
  expect(await ask('/One')).toBe('"found none"');
});

test.each<[what: string, change: Partial<Parameters<typeof smallStack>[1]>, reason: string]>([
  ['a resource that is refused', { resources: { Jobs: { Type: 'AWS::SQS::Queue' } } }, 'Jobs (AWS::SQS::Queue) cannot'],
  ['a function that cannot be loaded', { functions: { One: 'exports.handler = (' } }, 'The function One'],
])('reload rejects a stack with %s, and keeps serving the old stack', async (_, change, reason) => {
  const { ask, reload } = await start({ functions: { One: counting('one') } });
  await ask('/One');
  const changed = { functions: { One: saying('changed'), Two: saying('two') }, ...change };
  await expect(reload(changed)).rejects.toThrow(reason);
  expect([await ask('/One'), await ask('/Two')]).toEqual(['"one 2"', '{"message":"Not Found"}']);
  await reload({ functions: { One: saying('fixed') } });
  expect(await ask('/One')).toBe('"fixed"');
});

test('if reload rejects a stack, it ends the functions that it has started for that stack', async () => {
  const { server, port } = await startServer();
  const { reload } = await start({ functions: { One: saying('one') } });
  const sockets: Socket[] = [];
  const bothConnected = new Promise<void>((resolve) => {
    server.on('connection', (socket) => sockets.push(socket) === 2 && resolve());
  });
  const connecting = `import net from 'node:net'; const socket = net.connect(${port}, '127.0.0.1');`;
  const good = `${connecting} export const handler = async () => 'good';`;
  const bad = `${connecting} await new Promise((resolve) => socket.on('data', resolve)); throw new Error('bad');`;
  const reloading = expect(reload({ functions: { Good: good, Bad: bad } })).rejects.toThrow('bad');
  await bothConnected;
  const ended = Promise.all(sockets.map(closed));
  for (const socket of sockets) socket.write('go on');
  await Promise.all([reloading, ended]);
});

test('if two calls of reload overlap, the emulator then serves the stack of the second call', async () => {
  const { ask, emulator, folder } = await start({ functions: { One: saying('one') } });
  const slow = `Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300); ${saying('slow')}`;
  const stacks = [await smallStack(folder, { functions: { One: slow } })];
  stacks.push(await smallStack(folder, { functions: { One: saying('last') } }));
  await Promise.all(stacks.map((stack) => emulator.reload(stack)));
  expect(await ask('/One')).toBe('"last"');
});

test('reload rejects if the emulator is closed while a function is being loaded, and ends that function', async () => {
  const { server, port } = await startServer();
  const { emulator, reload } = await start({ functions: { One: saying('one') } });
  const loading = once(server, 'connection');
  const code = `import net from 'node:net'; net.connect(${port}, '127.0.0.1'); await new Promise(() => {});`;
  const reloading = expect(reload({ functions: { One: code } })).rejects.toThrow();
  const [socket]: Socket[] = await loading;
  const ended = closed(socket as Socket);
  await emulator.close();
  await Promise.all([reloading, ended]);
});
