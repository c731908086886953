import { once } from 'node:events';
import { createServer, request, ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { devNull } from 'node:os';
import { text } from 'node:stream/consumers';
import {
  type AttributeValue,
  DynamoDBClient,
  type ExpectedAttributeValue,
  PutItemCommand,
  QueryCommand,
  TransactWriteItemsCommand,
} from '@aws-sdk/client-dynamodb';
import { Level } from 'level';
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { account, tableArn } from '../account.ts';
import { openStore, type Store } from '../dynamodb/store.ts';
import type { FunctionSpec, TableSpec } from '../served-stack.ts';
import { functionSpec } from './kit/function-spec.ts';
import { startServer } from './kit/servers.ts';
import { key, startSlowStore } from './kit/slow-store.ts';
import { temporaryFolder } from './kit/temporary-folder.ts';
import { until } from './kit/until.ts';

afterEach(() => {
  vi.useRealTimers();
});

const allowOn = (action: string, resource: string) => ({
  effect: 'Allow' as const,
  actions: [action],
  resources: [resource],
});

describe('the emulator with a store that the user runs', () => {
  test.each<[what: string, status: 'CREATING' | undefined, created: number]>([
    ['the emulator creates the table', undefined, 1],
    ['another process is creating the table', 'CREATING', 0],
  ])("is not ready until the store's table is active: %s", async (_, status, created) => {
    const slow = await startSlowStore(status);
    const store = await openStore(slow);
    const ready = vi.fn();
    const creating = store.createTables([{ TableName: 'Orders', ...key }]).then(ready);
    await until(() => slow.described > 4);
    expect(ready).not.toHaveBeenCalled();
    slow.status = 'ACTIVE';
    await creating;
    expect(slow.created, 'tables created').toBe(created);
    await store.close();
  });

  test("does not start if the key of the store's table differs from the key in the stack, and leaves that table unchanged", async () => {
    const slow = await startSlowStore('CREATING');
    slow.status = 'ACTIVE';
    const store = await openStore(slow);
    const byName = { ...key, AttributeDefinitions: [{ AttributeName: 'id', AttributeType: 'S' as const }] };
    await expect(store.createTables([{ TableName: 'Orders', ...byName }])).rejects.toThrow(
      `The store (${slow.endpoint}) cannot be used: its table Orders has a different key than in the stack`,
    );
    expect(slow.created, 'tables created').toBe(0);
  });

  const noFiles = { AWS_CONFIG_FILE: devNull, AWS_SHARED_CREDENTIALS_FILE: devNull };
  const credentials = { AWS_ACCESS_KEY_ID: 'mine', AWS_SECRET_ACCESS_KEY: 'shh', AWS_SESSION_TOKEN: 'session' };
  const anybody = { AWS_ACCESS_KEY_ID: 'local', AWS_SECRET_ACCESS_KEY: 'local' };

  test.each<[what: string, environment: Record<string, string | undefined>, expected: object]>([
    ['the credentials in the environment', credentials, credentials],
    ['made-up credentials if the environment has no secret', { AWS_ACCESS_KEY_ID: 'mine' }, anybody],
  ])(
    "makes the functions ignore the user's AWS configuration files, and call the store with these credentials: %s",
    async (_, environment, expected) => {
      const { endpoint } = await startSlowStore();
      for (const name of Object.keys(credentials)) vi.stubEnv(name, environment[name]);
      const store = await openStore({ endpoint });
      expect(store.enforcesRoles).toBe(false);
      expect(store.environmentOf(functionSpec)).toEqual({
        AWS_ENDPOINT_URL_DYNAMODB: endpoint,
        AWS_REGION: account.region,
        ...noFiles,
        ...expected,
      });
    },
  );

  test.each([[{ endpoint: 'nonsense' }], [{ endpoint: 'localhost:8000' }], [{}]])(
    "does not start, and says what to pass instead, if the store's address is not an http or https URL: %j",
    async (location) => {
      const { endpoint } = location as { endpoint: string };
      await expect(openStore({ endpoint })).rejects.toThrow(
        'The store needs a folder, or an endpoint that is an http or https URL (such as http://localhost:8000), ' +
          `not ${JSON.stringify(endpoint)}.`,
      );
    },
  );

  test("does not start if nothing listens at the store's address, and reports the reason and a remedy", async () => {
    const endpoint = 'http://127.0.0.1:9';
    await expect(openStore({ endpoint })).rejects.toThrow(
      `The store (${endpoint}) cannot be used: connect ECONNREFUSED 127.0.0.1:9. Start it, or correct its address.`,
    );
  });

  const notDynamoDb = 'it does not respond as DynamoDB does. Correct its address.';
  const invalidToken = 'The security token included in the request is invalid.';
  const refused = { __type: 'com.amazon.coral.service#UnrecognizedClientException', message: invalidToken };
  test.each([
    ['a web site', 200, '<!doctype html>', notDynamoDb],
    ['an API that is not DynamoDB', 404, '{"message":"Not Found"}', notDynamoDb],
    ['a store that refuses the credentials', 400, JSON.stringify(refused), invalidToken],
  ])("does not start, and says why, if %s at the store's address responds with %i %s", async (_, status, body, why) => {
    const site = createServer((request, response) => {
      request.resume();
      response.writeHead(status, { 'content-type': 'application/x-amz-json-1.0' }).end(body);
    });
    const endpoint = `http://127.0.0.1:${await startServer(site)}`;
    await expect(openStore({ endpoint })).rejects.toThrow(`The store (${endpoint}) cannot be used: ${why}`);
  });

  test('does not start, and says why, if the store does not respond within 5 seconds', async () => {
    const server = createServer();
    const endpoint = `http://127.0.0.1:${await startServer(server)}`;
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const failure = vi.fn();
    const opening = openStore({ endpoint }).catch(failure);
    await once(server, 'request');
    await vi.advanceTimersByTimeAsync(4_999);
    expect(failure).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(1_001);
    await opening;
    expect(String(failure.mock.lastCall)).toMatch(`The store (${endpoint}) cannot be used: `);
  });
});

describe('the embedded store', () => {
  const attribute = (AttributeName: string, AttributeType: 'S' | 'N') => ({ AttributeName, AttributeType });
  const keySchema = (hash: string, range: string, rangeType: 'RANGE' | 'HASH' = 'RANGE') => [
    { AttributeName: hash, KeyType: 'HASH' as const },
    { AttributeName: range, KeyType: rangeType },
  ];
  const byDay = {
    IndexName: 'byDay',
    KeySchema: keySchema('day', 'total'),
    Projection: { ProjectionType: 'INCLUDE' as const, NonKeyAttributes: ['note', 'name'] },
  };
  const byTotal = {
    IndexName: 'byTotal',
    KeySchema: keySchema('customer', 'total'),
    Projection: { ProjectionType: 'KEYS_ONLY' as const },
  };
  const table = {
    TableName: 'Orders',
    KeySchema: keySchema('customer', 'id'),
    AttributeDefinitions: [
      attribute('customer', 'S'),
      attribute('id', 'N'),
      attribute('day', 'S'),
      attribute('total', 'N'),
    ],
    GlobalSecondaryIndexes: [byDay],
    LocalSecondaryIndexes: [byTotal],
  };
  const items: TableSpec = { TableName: 'Items', ...key };
  const reader = {
    ...functionSpec,
    name: 'Reader',
    role: [allowOn('dynamodb:Query', `${tableArn('Orders')}/index/*`)],
  };
  const writer = { ...functionSpec, name: 'Writer', role: [allowOn('dynamodb:*Item', tableArn('*'))] };

  const newFolder = async (): Promise<string> => {
    const { folder, remove } = await temporaryFolder();
    onTestFinished(remove);
    return folder;
  };

  /** Opens the store, and closes it at the end of the test unless the test has closed it before. */
  const open = async (folder: string, tables: TableSpec[]) => {
    await using opened = new AsyncDisposableStack();
    const store = await openStore({ folder });
    opened.defer(store.close);
    await store.createTables(tables);
    const stack = opened.move();
    onTestFinished(() => stack.disposeAsync());
    return { ...store, close: () => stack.disposeAsync() };
  };

  /** Makes an SDK client with the endpoint, the region and the credentials in the function's environment. */
  const clientOf = (store: Store, function_: FunctionSpec, accessKeyId?: string): DynamoDBClient => {
    const environment = store.environmentOf(function_);
    const client = new DynamoDBClient({
      endpoint: String(environment['AWS_ENDPOINT_URL_DYNAMODB']),
      region: String(environment['AWS_REGION']),
      credentials: {
        accessKeyId: accessKeyId ?? String(environment['AWS_ACCESS_KEY_ID']),
        secretAccessKey: String(environment['AWS_SECRET_ACCESS_KEY']),
      },
      maxAttempts: 1,
    });
    onTestFinished(() => client.destroy());
    return client;
  };

  const put = (id: string, total: string): PutItemCommand =>
    new PutItemCommand({
      TableName: 'Orders',
      Item: {
        customer: { S: 'Ada' },
        id: { N: id },
        day: { S: 'Monday' },
        total: { N: total },
        other: { S: 'secret' },
      },
    });

  const query = (IndexName: string, attribute: string, value: string): QueryCommand =>
    new QueryCommand({
      TableName: 'Orders',
      IndexName,
      KeyConditionExpression: '#a = :v',
      ExpressionAttributeNames: { '#a': attribute },
      ExpressionAttributeValues: { ':v': { S: value } },
    });

  test('measures text in UTF-8 bytes for the item limit of 400 KB', async () => {
    const client = clientOf(await open(await newFolder(), [items]), writer);
    const put = (name: string) =>
      client.send(new PutItemCommand({ TableName: 'Items', Item: { id: { N: '1' }, name: { S: name } } }));
    const rest = 'id'.length + 2 + 'name'.length;
    await expect(put('é'.repeat((409_600 - rest) / 2))).resolves.toBeDefined();
    await expect(put(`${'é'.repeat((409_600 - rest) / 2)}x`)).rejects.toThrow('Item size has exceeded');
  });

  const list = (...texts: string[]) => ({ L: texts.map((S) => ({ S })) });
  const box = { M: { size: { N: '1' }, colours: { SS: ['red', 'blue'] }, parts: { L: [{ M: { cm: { N: '3' } } }] } } };
  const sameBox = {
    M: { parts: { L: [{ M: { cm: { N: '3.0' } } }] }, colours: { SS: ['blue', 'red'] }, size: { N: '1e0' } },
  };

  test.each<[condition: string, value: AttributeValue, passes: boolean]>([
    ['tags = :v', list('a', 'b'), true],
    ['tags = :v', list('b', 'a'), false],
    ['tags = twin AND NOT tags = :v', list('c'), true],
    ['box = :v', sameBox, true],
    ['box = :v', { M: { ...box.M, size: { N: '2' } } }, false],
    ['box <> :v', sameBox, false],
    ['box IN (tags, :v)', sameBox, true],
    ['L = :v', list('a'), true],
    ['absent = :v', list('a'), false],
  ])('compares lists and maps in a condition by value, lists in order: %s with %j (passes: %s)', async (...args) => {
    const [condition, value, passes] = args;
    const client = clientOf(await open(await newFolder(), [items]), writer);
    const Item = { id: { N: '1' }, tags: list('a', 'b'), twin: list('a', 'b'), box, L: list('a') };
    await client.send(new PutItemCommand({ TableName: 'Items', Item }));
    const ExpressionAttributeValues = { ':v': value };
    const again = { TableName: 'Items', Item, ConditionExpression: condition, ExpressionAttributeValues };
    const error = await client.send(new PutItemCommand(again)).then(
      () => undefined,
      ({ name }) => name,
    );
    expect(error).toBe(passes ? undefined : 'ConditionalCheckFailedException');
  });

  test('replaces, updates and deletes an item of great depth without a condition', async () => {
    const store = await open(await newFolder(), [items]);
    const key = '{"id":{"N":"1"}}';
    const deep = `{"id":{"N":"1"},"list":${'{"L":['.repeat(1_200)}${']}'.repeat(1_200)}}`;
    for (const [operation, item] of [
      ['PutItem', `"Item":${deep}`],
      ['PutItem', `"Item":${deep}`],
      ['UpdateItem', `"Key":${key}`],
      ['DeleteItem', `"Key":${key}`],
    ])
      expect(
        await ask(store, { 'x-amz-target': `DynamoDB_20120810.${operation}` }, `{"TableName":"Items",${item}}`),
        operation,
      ).toEqual([200, '{}']);
  });

  test('compares lists and maps by value in the older form of a condition, Expected', async () => {
    const client = clientOf(await open(await newFolder(), [items]), writer);
    const Item = { id: { N: '1' }, tags: list('a', 'b'), box };
    const put = (Expected?: Record<string, ExpectedAttributeValue>) =>
      client.send(new PutItemCommand({ TableName: 'Items', Item, Expected }));
    await put();
    await put({ tags: { Value: list('a', 'b') }, box: { Value: sameBox } });
    await expect(put({ tags: { Value: list('b', 'a') } })).rejects.toThrow('The conditional request failed');
  });

  test('keeps several tables, with global and local indexes, across a restart', async () => {
    const folder = await newFolder();
    const first = await open(folder, [table, items]);
    const client = clientOf(first, writer);
    for (const [id, total] of Object.entries({ 1: '100', 2: '9', 3: '-5' })) await client.send(put(id, total));
    await client.send(new PutItemCommand({ TableName: 'Items', Item: { id: { N: '1' } } }));
    await first.close();

    const again = clientOf(await open(folder, [items, table]), reader);
    const inOrder = [
      ['3', '-5'],
      ['2', '9'],
      ['1', '100'],
    ].map(([id = '', total = '']) => ({ customer: { S: 'Ada' }, id: { N: id }, total: { N: total } }));
    const local = await again.send(query('byTotal', 'customer', 'Ada'));
    expect(local.Items).toEqual(inOrder);
    const global = await again.send(query('byDay', 'day', 'Monday'));
    expect(global.Items).toEqual(inOrder.map((item) => ({ ...item, day: { S: 'Monday' } })));
  });

  const withIndex = (other: object): Partial<TableSpec> => ({ GlobalSecondaryIndexes: [{ ...byDay, ...other }] });

  test.each<[what: string, other: Partial<TableSpec>, difference: string]>([
    ['one index fewer', { LocalSecondaryIndexes: undefined }, 'different indexes'],
    ['an index with another name', withIndex({ IndexName: 'byWeek' }), 'different indexes'],
    ['an index with another key', withIndex({ KeySchema: byDay.KeySchema.slice(0, 1) }), 'different indexes'],
    ['an index with another projection', withIndex({ Projection: { ProjectionType: 'ALL' } }), 'different indexes'],
    [
      'an index with other projected attributes',
      withIndex({ Projection: { ...byDay.Projection, NonKeyAttributes: ['note'] } }),
      'different indexes',
    ],
    [
      'an attribute with another type',
      { AttributeDefinitions: [...table.AttributeDefinitions.slice(0, 3), attribute('total', 'S')] },
      'different indexes',
    ],
    ['a table with another key', { KeySchema: keySchema('id', 'customer') }, 'a different key'],
  ])(
    'stops the emulator from starting if its table is outdated: the stack now has %s',
    async (_, other, difference) => {
      const folder = await newFolder();
      const store = await open(folder, [table]);
      await expect(store.createTables([{ ...table, ...other }])).rejects.toThrow(
        `The store (dynalite, data in ${folder}) cannot be used: its table Orders has ${difference} than in the stack; ` +
          'use another store, or delete the table',
      );
    },
  );

  test('accepts an existing table whose indexes and projected attributes are in a different order than in the stack', async () => {
    const byNight = { ...byDay, IndexName: 'byNight' };
    const reversed = { ...byDay, Projection: { ...byDay.Projection, NonKeyAttributes: ['name', 'note'] } };
    const store = await open(await newFolder(), [{ ...table, GlobalSecondaryIndexes: [byDay, byNight] }]);
    await store.createTables([{ ...table, GlobalSecondaryIndexes: [byNight, reversed] }]);
  });

  test('stops the emulator from starting if dynalite cannot create a secondary index, and advises the user to choose another store', async () => {
    const folder = await newFolder();
    const twoHashKeys = { ...byDay, KeySchema: keySchema('day', 'total', 'HASH') };
    await expect(open(folder, [{ ...table, GlobalSecondaryIndexes: [twoHashKeys] }])).rejects.toThrow(
      `The store (dynalite, data in ${folder}) cannot be used: it refuses to create the table Orders: Invalid KeySchema: ` +
        'The second KeySchemaElement is not a RANGE key type. If AWS accepts that table, use a DynamoDB that accepts it too: ' +
        'pass `store: { endpoint }` (npm start: AWS_ENDPOINT_URL_DYNAMODB).',
    );
  });

  test('stops the emulator from starting if two tables have the same name, and the error message says what to do', async () => {
    await expect(open(await newFolder(), [items, items])).rejects.toThrow(
      'it is already creating a table Items. If two tables of the stack have this name, rename one; otherwise start again.',
    );
  });

  test('refuses unknown credentials, unknown operations and calls that the role forbids, with errors that the SDK understands', async () => {
    const store = await open(await newFolder(), [table]);
    expect(store.enforcesRoles).toBe(true);
    const failures = await Promise.all(
      [
        clientOf(store, reader).send(put('1', '1')),
        clientOf(store, writer, 'nobody').send(put('1', '1')),
        clientOf(store, writer).send(new TransactWriteItemsCommand({ TransactItems: [] })),
      ].map((answer) => answer.catch((error) => [error.name, error.message, error.$metadata.httpStatusCode])),
    );
    const denied = `User: arn:aws:sts::${account.id}:assumed-role/FnRole/Reader is not authorized`;
    expect(failures).toEqual([
      ['AccessDeniedException', expect.stringContaining(denied), 400],
      ['UnrecognizedClientException', 'The security token included in the request is invalid.', 400],
      ['UnknownOperationException', expect.stringContaining('`store: { endpoint }`'), 400],
    ]);
  });

  test('gives a function the same access key during a start, which nobody can derive from the function', async () => {
    const [store, nextStart] = [await open(await newFolder(), []), await open(await newFolder(), [])];
    const keyOf = ({ environmentOf }: Store, spec: FunctionSpec) => environmentOf(spec)['AWS_ACCESS_KEY_ID'] ?? '';
    const twin = { ...reader, name: 'Twin' };
    expect(keyOf(store, reader)).toBe(keyOf(store, structuredClone(reader)));
    expect(keyOf(store, reader)).not.toBe(keyOf(nextStart, reader));
    expect(keyOf(store, twin).replace('Twin', 'Reader')).not.toBe(keyOf(store, reader));
  });

  /** Sends a request to the store as a function's SDK does, apart from the given differences. */
  const ask = (store: Store, headers: Record<string, string> = {}, body = '{}') => {
    const environment = store.environmentOf({ ...functionSpec, role: [allowOn('*', '*')] });
    const { host, port } = new URL(environment['AWS_ENDPOINT_URL_DYNAMODB'] ?? '');
    const sent = request({
      host: '127.0.0.1',
      port,
      method: 'POST',
      headers: {
        host,
        'content-type': 'application/x-amz-json-1.0',
        'x-amz-target': 'DynamoDB_20120810.ListTables',
        'x-amz-date': '20261122T000000Z',
        authorization: `AWS4-HMAC-SHA256 Credential=${environment['AWS_ACCESS_KEY_ID']}/20261122/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=a`,
        ...headers,
      },
    }).end(body);
    onTestFinished(() => void sent.destroy());
    return once(sent, 'response').then(async ([response]) => [response.statusCode, await text(response)] as const);
  };

  test('refuses requests to another host, so that no website can point its name at the store', async () => {
    const store = await open(await newFolder(), [items]);
    const { port } = new URL(store.environmentOf(writer)['AWS_ENDPOINT_URL_DYNAMODB'] ?? '');
    expect(await ask(store)).toEqual([200, '{"TableNames":["Items"]}']);
    for (const host of [`rebound.example:${port}`, '127.0.0.1']) {
      expect(await ask(store, { host })).toEqual([
        400,
        JSON.stringify({
          __type: 'com.amazon.coral.service#AccessDeniedException',
          Message: `The store is at http://127.0.0.1:${port}, and refuses requests to another host.`,
        }),
      ]);
    }
  });

  test.each([
    ['another host', { host: 'rebound.example' }, 'The store is at'],
    ['an unknown key', { authorization: 'AWS4-HMAC-SHA256 Credential=nobody/20261122' }, 'security token'],
  ])('refuses a request with %s before its body has arrived', async (_, headers, message) => {
    const store = await open(await newFolder(), [items]);
    const unfinished = { 'content-length': '100', connection: 'close', ...headers };
    expect(await ask(store, unfinished, '{')).toEqual([400, expect.stringContaining(message)]);
  });

  const id = { id: { N: '1' } };
  const between = {
    TableName: 'Items',
    ExpressionAttributeNames: { '#id': 'id' },
    ExpressionAttributeValues: { ':v': { N: '0' } },
  };
  const toAbsent = '#id BETWEEN :v AND absent';
  const nested = `${'{"L":['.repeat(20_000)}${']}'.repeat(20_000)}`;
  const internalError = 'com.amazonaws.dynamodb.v20120810#InternalServerError';

  test.each<[operation: string, what: string, body: unknown]>([
    ['ListTables', 'null', null],
    ['GetItem', 'null in the key', { TableName: 'Items', Key: { id: null } }],
    ['PutItem', 'null in a list', { TableName: 'Items', Item: { ...id, list: { L: [null] } } }],
    ['PutItem', 'an absent bound', { ...between, Item: id, ConditionExpression: toAbsent }],
    ['Scan', 'an absent bound', { ...between, FilterExpression: toAbsent }],
    [
      'Scan',
      'an absent bound for an index',
      { ...between, TableName: 'Orders', IndexName: 'byDay', FilterExpression: toAbsent },
    ],
    ['BatchWriteItem', 'null as a write', { RequestItems: { Items: [null] } }],
    ['TagResource', 'null among the tags', { ResourceArn: tableArn('Items'), Tags: [null] }],
    ['TagResource', 'null as a tag', { ResourceArn: tableArn('Items'), Tags: [{ Key: 'a', Value: null }] }],
    ['PutItem', 'a list of great depth', `{"TableName":"Items","Item":{"id":{"N":"1"},"list":${nested}}}`],
  ])('keeps working after a request at which dynalite fails: %s with %s', async (operation, _, body) => {
    const store = await open(await newFolder(), [items, table]);
    await clientOf(store, writer).send(put('1', '1'));
    const send = (operation: string, body: unknown) => {
      const json = typeof body === 'string' ? body : JSON.stringify(body);
      return ask(store, { 'x-amz-target': `DynamoDB_20120810.${operation}` }, json);
    };
    const putAgain = { TableName: 'Items', Item: id };
    expect(await send('PutItem', putAgain)).toEqual([200, '{}']);
    expect(await send(operation, body)).toEqual([500, expect.stringContaining(internalError)]);
    expect(await send('PutItem', putAgain), 'the next request for the same item').toEqual([200, '{}']);
  });

  test('ends only the failing ones of several requests that wait for the same item', async () => {
    const store = await open(await newFolder(), [items]);
    const statuses = [500, 200, 500, 500, 200, 200, 500, 500];
    await clientOf(store, writer).send(new PutItemCommand({ TableName: 'Items', Item: id }));
    const answers = statuses.map((status) => {
      const condition = status === 500 ? { ...between, ConditionExpression: toAbsent } : { TableName: 'Items' };
      return ask(
        store,
        { 'x-amz-target': 'DynamoDB_20120810.PutItem' },
        JSON.stringify({ ...condition, Item: id }),
      ).then(([received]) => received);
    });
    expect(await Promise.all(answers)).toEqual(statuses);
  });

  test('unlocks an item once if dynalite fails after it has unlocked the item', async () => {
    const store = await open(await newFolder(), [items]);
    const send = () =>
      ask(store, { 'x-amz-target': 'DynamoDB_20120810.PutItem' }, JSON.stringify({ TableName: 'Items', Item: id }));
    vi.spyOn(ServerResponse.prototype, 'end').mockImplementationOnce(() => {
      throw new Error('too late');
    });
    expect(await send()).toEqual([500, expect.stringContaining('too late')]);
    expect(await send()).toEqual([200, '{}']);
  });

  test('responds 413 to a request of more than 16 MB', async () => {
    const store = await open(await newFolder(), []);
    expect(await ask(store, {}, ' '.repeat(16 * 2 ** 20 + 1))).toEqual([413, '']);
  });

  test('does not answer a request, and throws, if its database reports an error', async () => {
    const store = await open(await newFolder(), [items]);
    const diskFull = Object.assign(new Error('IO error: No space left on device'), { code: 'LEVEL_IO_ERROR' });
    vi.spyOn(Level.prototype as unknown as { _put: () => Promise<void> }, '_put').mockRejectedValueOnce(diskFull);
    const others = process.listeners('uncaughtException');
    process.removeAllListeners('uncaughtException');
    onTestFinished(() => {
      for (const listener of others) process.on('uncaughtException', listener);
    });
    const thrown = once(process, 'uncaughtException').then(([error]) => error);
    const answered = clientOf(store, writer)
      .send(new PutItemCommand({ TableName: 'Items', Item: id }))
      .then(String, String);
    expect(await Promise.race([thrown, answered])).toBe(diskFull);
  });

  test('keeps working after a function has ended in the middle of its request to the store', async () => {
    const store = await open(await newFolder(), [table]);
    const { port } = new URL(store.environmentOf(writer)['AWS_ENDPOINT_URL_DYNAMODB'] ?? '');
    const socket = connect(Number(port), '127.0.0.1');
    socket.end('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{');
    await once(socket.resume(), 'close');
    await clientOf(store, writer).send(put('1', '1'));
  });
});

test.each<[value: string | undefined, region: string]>([
  [undefined, 'us-east-1'],
  ['', 'us-east-1'],
  ['eu-central-1', 'eu-central-1'],
])('with AWS_REGION=%s, the emulator uses the region %s', async (value, region) => {
  vi.stubEnv('AWS_REGION', value);
  vi.resetModules();
  expect((await import('../account.ts')).account.region).toBe(region);
});
