import { once } from 'node:events';
import { request, ServerResponse } from 'node:http';
import { text as readText } from 'node:stream/consumers';
import database from 'dynalite/db/index.js';
import { Level } from 'level';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { openStore, type Store } from '../dynamodb/store.ts';
import { type FunctionSpec, type TableSpec, tableArn } from '../served-stack.ts';
import { functionSpec } from './kit/one-function.ts';
import { account, hash, key, number, range, text } from './kit/templates.ts';
import { temporaryFolder } from './kit/temporary.ts';

describe('the embedded store', () => {
  const byDay = {
    IndexName: 'byDay',
    KeySchema: [hash('day'), range('total')],
    Projection: { ProjectionType: 'INCLUDE' as const, NonKeyAttributes: ['note', 'name'] },
  };
  const Projection = { ProjectionType: 'KEYS_ONLY' as const };
  const byTotal = { IndexName: 'byTotal', KeySchema: [hash('customer'), range('total')], Projection };
  const attributes = [text('customer'), number('id'), text('day')];
  const orders = {
    TableName: 'Orders',
    KeySchema: [hash('customer'), range('id')],
    AttributeDefinitions: [...attributes, number('total')],
    GlobalSecondaryIndexes: [byDay],
    LocalSecondaryIndexes: [byTotal],
  };
  const order = { customer: { S: 'Ada' }, id: { N: '1' }, day: { S: 'Monday' }, total: { N: '9' } };
  const items: TableSpec = { TableName: 'Items', ...key };
  const id = { id: { N: '1' } };

  /** Opens a store, and closes it at the end of the test unless the test has closed it before. */
  const open = async (tables: TableSpec[], folder?: string) => {
    await using opened = new AsyncDisposableStack();
    const store = await openStore({ folder: folder ?? (await temporaryFolder()) });
    opened.defer(store.close);
    await store.createTables(tables);
    const stack = opened.move();
    onTestFinished(() => stack.disposeAsync());
    return { ...store, close: () => stack.disposeAsync() };
  };

  const mayAll: FunctionSpec = { ...functionSpec, role: [{ effect: 'Allow', actions: ['*'], resources: ['*'] }] };

  /** Begins a request as the SDK of a function that may do everything, apart from the given headers. */
  const begin = (store: Store, operation: string, headers: Record<string, string> = {}) => {
    const environment = store.environmentOf(mayAll);
    const { host, port } = new URL(environment['AWS_ENDPOINT_URL_DYNAMODB'] ?? '');
    const sent = request({
      host: '127.0.0.1',
      port,
      method: 'POST',
      headers: {
        host,
        'content-type': 'application/x-amz-json-1.0',
        'x-amz-target': `DynamoDB_20120810.${operation}`,
        'x-amz-date': '20261122T000000Z',
        'x-amz-security-token': environment['AWS_SESSION_TOKEN'],
        authorization: `AWS4-HMAC-SHA256 Credential=${environment['AWS_ACCESS_KEY_ID']}/20261122/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=a`,
        ...headers,
      },
    });
    onTestFinished(() => void sent.destroy());
    return sent;
  };

  const send = async (store: Store, operation: string, body: unknown, headers: Record<string, string> = {}) => {
    const sent = begin(store, operation, headers).end(typeof body === 'string' ? body : JSON.stringify(body));
    const [response] = await once(sent, 'response');
    return [response.statusCode, await readText(response)] as const;
  };

  const put = (store: Store, item: object, others: object = {}) =>
    send(store, 'PutItem', { TableName: 'Items', Item: { ...id, ...item }, ...others });

  test('measures text in UTF-8 bytes for the item limit of 400 KB', async () => {
    const store = await open([items]);
    const name = 'é'.repeat((409_600 - 'id'.length - 2 - 'name'.length) / 2);
    expect(await put(store, { name: { S: name } })).toEqual([200, '{}']);
    expect(await put(store, { name: { S: `${name}x` } })).toEqual([400, expect.stringContaining('Item size')]);
  });

  const withValue = (value: object) => ({ ExpressionAttributeValues: { ':v': value } });
  const condition = (ConditionExpression: string, value: object) => ({ ConditionExpression, ...withValue(value) });
  const item = (attributes: object, more: object = {}) => ({ Item: { ...order, ...attributes }, ...more });
  const equal = (name: string, S: string) => ({ [name]: { ComparisonOperator: 'EQ', AttributeValueList: [{ S }] } });
  const ofDay = (S: string, others: object = {}) => ({ IndexName: 'byDay', KeyConditions: equal('day', S), ...others });
  const list = (...texts: string[]) => ({ L: texts.map((S) => ({ S })) });

  const box = { M: { size: { N: '1' }, colours: { SS: ['red', 'blue'] }, parts: { L: [{ M: { cm: { N: '3' } } }] } } };
  const sameParts = { L: [{ M: { cm: { N: '3.0' } } }] };
  const sameBox = { M: { parts: sameParts, colours: { SS: ['blue', 'red'] }, size: { N: '1e0' } } };

  test('compares lists and maps in a condition by value, lists in order', async () => {
    const store = await open([items]);
    const values = { tags: list('a', 'b'), twin: list('a', 'b'), box, L: list('a') };
    await put(store, values);
    const conditions: [condition: object, passes: boolean][] = [
      [condition('tags = :v', list('b', 'a')), false],
      [condition('tags = twin AND NOT tags = :v', list('c')), true],
      [condition('box = :v', sameBox), true],
      [condition('box IN (tags, :v)', sameBox), true],
      [condition('L = :v', list('a')), true],
      [{ Expected: { box: { Value: sameBox } } }, true],
    ];
    const failed = [400, expect.stringContaining('ConditionalCheckFailedException')];
    for (const [only, passes] of conditions)
      expect(await put(store, values, only), JSON.stringify(only)).toEqual(passes ? [200, '{}'] : failed);
  });

  test('does not copy an item for a call without a condition: items from an earlier version may be too deep', () => {
    let deepItem = {};
    for (let depth = 0; depth < 100_000; depth += 1) deepItem = { L: [deepItem] };
    expect(database.checkConditional({}, deepItem)).toBeNull();
  });

  test('keeps its tables, with global and local indexes, across a restart', async () => {
    const folder = await temporaryFolder();
    const first = await open([orders, items], folder);
    await send(first, 'PutItem', { TableName: 'Orders', Item: { ...order, other: { S: 'not in the index' } } });
    await first.close();

    const again = await open([items, orders], folder);
    expect(again.enforcesRoles).toBe(true);
    const scan = async (IndexName: string) =>
      JSON.parse((await send(again, 'Scan', { TableName: 'Orders', IndexName }))[1]).Items;
    const { day: _, ...inLocalIndex } = order;
    expect(await scan('byTotal')).toEqual([inLocalIndex]);
    expect(await scan('byDay')).toEqual([order]);
  });

  const withIndex = (other: object): Partial<TableSpec> => ({ GlobalSecondaryIndexes: [{ ...byDay, ...other }] });

  test('is not used if its table is outdated', async () => {
    const folder = await temporaryFolder();
    const store = await open([orders], folder);
    const changes: Partial<TableSpec>[] = [
      withIndex({ IndexName: 'byWeek' }),
      withIndex({ Projection: { ProjectionType: 'INCLUDE' } }),
      { AttributeDefinitions: [...attributes, text('total')] },
      { KeySchema: [hash('id'), range('customer')] },
    ];
    for (const other of changes)
      await expect(store.createTables([{ ...orders, ...other }]), JSON.stringify(other)).rejects.toThrow(
        `The store (dynalite, data in ${folder}) cannot be used: its table Orders has another key or other indexes than ` +
          'in the stack; use another store, or delete the table (of dynalite: its folder, with all items)',
      );
  });

  test('accepts a table whose indexes and projected attributes are in a different order than in the stack', async () => {
    const byNight = { ...byDay, IndexName: 'byNight' };
    const reversed = { ...byDay, Projection: { ...byDay.Projection, NonKeyAttributes: ['name', 'note'] } };
    const store = await open([{ ...orders, GlobalSecondaryIndexes: [byDay, byNight] }]);
    await store.createTables([{ ...orders, GlobalSecondaryIndexes: [byNight, reversed] }]);
    const KeySchema = orders.KeySchema.map(({ AttributeName, KeyType }) => ({ KeyType, AttributeName }));
    await store.createTables([{ ...orders, KeySchema, GlobalSecondaryIndexes: [byDay, byNight] }]);
  });

  test('is not used if it refuses a table, and the message says what to do', async () => {
    const index = withIndex({ KeySchema: [hash('day'), hash('total')] });
    await expect(open([{ ...orders, ...index }])).rejects.toThrow(
      /it refuses to create the table Orders: Invalid KeySchema: .*If AWS accepts that table, use a DynamoDB that/,
    );
  });

  test('gives a function the same access key during a start, which nobody can derive from the function', async () => {
    const [store, nextStart] = [await open([]), await open([])];
    const keyOf = ({ environmentOf }: Store, spec: FunctionSpec) => environmentOf(spec)['AWS_ACCESS_KEY_ID'] ?? '';
    const twin = { ...mayAll, name: 'Twin' };
    expect(keyOf(store, mayAll)).toBe(keyOf(store, structuredClone(mayAll)));
    expect(keyOf(store, mayAll)).not.toBe(keyOf(nextStart, mayAll));
    expect(keyOf(store, twin).replace('Twin', mayAll.name)).not.toBe(keyOf(store, mayAll));
  });

  test('refuses a request to another host, or without valid credentials, before its body has arrived', async () => {
    const store = await open([]);
    const requests: [headers: Record<string, string>, message: string][] = [
      [{ host: 'rebound.example' }, 'The store is at http://127.0.0.1:'],
      [{ authorization: 'AWS4-HMAC-SHA256 Credential=nobody/20261122' }, 'security token'],
      [{ 'x-amz-security-token': '' }, 'security token'],
    ];
    for (const [headers, message] of requests) {
      const unfinished = { 'content-length': '100', connection: 'close', ...headers };
      const refused = [400, expect.stringContaining(message)];
      expect(await send(store, 'ListTables', '{', unfinished), message).toEqual(refused);
    }
  });

  test('responds 413 to a request of more than 16 MB', async () => {
    expect(await send(await open([]), 'ListTables', ' '.repeat(16 * 2 ** 20 + 1))).toEqual([413, '']);
  });

  const absentBound = { TableName: 'Items', ExpressionAttributeNames: { '#id': 'id' }, ...withValue({ N: '0' }) };
  const between = '#id BETWEEN :v AND absent';
  const ofIndex = { ...absentBound, FilterExpression: between, TableName: 'Orders', IndexName: 'byDay' };
  const nested = `${'{"L":['.repeat(20_000)}${']}'.repeat(20_000)}`;
  const internalError = expect.stringContaining('com.amazonaws.dynamodb.v20120810#InternalServerError');

  test('keeps working after a request at which dynalite fails', async () => {
    const store = await open([items, orders]);
    await send(store, 'PutItem', { TableName: 'Orders', Item: order });
    const requests: [operation: string, what: string, body: unknown][] = [
      ['ListTables', 'null', null],
      ['PutItem', 'null in a list', { TableName: 'Items', Item: { ...id, list: { L: [null] } } }],
      ['PutItem', 'an absent bound', { ...absentBound, ConditionExpression: between, Item: id }],
      ['Scan', 'an absent bound for an index', ofIndex],
      ['BatchWriteItem', 'null as a write', { RequestItems: { Items: [null] } }],
      ['TagResource', 'null as a tag', { ResourceArn: tableArn(account, 'Items'), Tags: [{ Key: 'a', Value: null }] }],
      ['PutItem', 'a list of great depth', `{"TableName":"Items","Item":{"id":{"N":"1"},"list":${nested}}}`],
    ];
    for (const [operation, what, body] of requests) {
      expect(await put(store, {})).toEqual([200, '{}']);
      expect(await send(store, operation, body), `${operation} with ${what}`).toEqual([500, internalError]);
      expect(await put(store, {}), 'the next request for the same item').toEqual([200, '{}']);
    }
  });

  test('unlocks an item once if dynalite fails after it has unlocked the item', async () => {
    const store = await open([items]);
    vi.spyOn(ServerResponse.prototype, 'end').mockImplementationOnce(() => {
      throw new Error('too late');
    });
    expect(await put(store, {})).toEqual([500, expect.stringContaining('too late')]);
    expect(await put(store, {})).toEqual([200, '{}']);
  });

  /** The functions of LevelDB that the package `level` calls. */
  const level = Level.prototype as unknown as Record<string, () => Promise<unknown>>;
  const ofItems = (operation: string, body: object = { Key: id }) =>
    [operation, { TableName: 'Items', ...body }] as const;
  const ofOrders = (operation: string, body: object) => [operation, { TableName: 'Orders', ...body }] as const;
  const ResourceArn = tableArn(account, 'Items');
  const unanswered = /socket hang up|ECONNRESET|ECONNREFUSED/;

  test.each<[what: string, fails: string, call: readonly [operation: string, body: object]]>([
    ['a write', '_put', ofItems('PutItem', { Item: { ...id, name: { S: 'Ada' } } })],
    ['a write of an index', '_put', ofOrders('PutItem', item({ day: { S: 'Tuesday' } }))],
    ['a delete', '_del', ofItems('DeleteItem')],
    ['a write of tags', '_batch', ['TagResource', { ResourceArn, Tags: [{ Key: 'a', Value: 'b' }] }]],
    ['a write of a table', '_put', ['CreateTable', { ...items, TableName: 'More', BillingMode: 'PAY_PER_REQUEST' }]],
    ['a read', '_get', ofItems('GetItem')],
    ['a read of all items', '_iterator', ofItems('Scan', {})],
    ['a read of an index', '_iterator', ofOrders('Query', ofDay('Monday'))],
    ['a read of the names of tables', '_iterator', ['ListTables', {}]],
  ])('answers nothing after %s has failed (%s), and throws an error that says what to do', async (_, fails, call) => {
    const folder = await temporaryFolder();
    const store = await open([items, orders], folder);
    expect(await put(store, {})).toEqual([200, '{}']);
    expect(await send(store, ...ofOrders('PutItem', item({})))).toEqual([200, '{}']);
    const others = process.listeners('uncaughtException');
    process.removeAllListeners('uncaughtException');
    onTestFinished(() => {
      for (const listener of others) process.on('uncaughtException', listener);
    });
    const thrown = once(process, 'uncaughtException').then(([error]) => error);
    const diskFull = Object.assign(new Error('IO error: No space left on device'), { code: 'LEVEL_IO_ERROR' });
    const { promise: failure, reject } = Promise.withResolvers<never>();
    const broken = vi.spyOn(level, fails);
    if (fails === '_iterator') broken.mockReturnValueOnce({ next: () => failure, close: async () => {} } as never);
    else broken.mockReturnValueOnce(failure);

    const failed = expect(send(store, ...call)).rejects.toThrow(unanswered);
    await vi.waitUntil(() => broken.mock.calls.length > 0);
    // LevelDB would accept these writes, but lose them at its next start.
    const later = [2, 3].map((N) => expect(put(store, { id: { N: `${N}` } })).rejects.toThrow(unanswered));
    const isWrite = ['_put', '_del', '_batch'].includes(fails);
    for (let reads = 0; isWrite && reads < 5; reads += 1) await send(store, 'ListTables', {});
    reject(diskFull);

    expect(await thrown).toMatchObject({
      name: 'FolderError',
      message: `The data in ${folder}/dynamodb cannot be used: ${diskFull.message}. Check its permissions and the space on its disk, or choose another folder.`,
      cause: diskFull,
    });
    await failed;
    await Promise.all(later);
    await expect(send(store, 'ListTables', {})).rejects.toThrow(unanswered);
  });

  test('does not take for a fault that a request still runs when the store is closed', async () => {
    const onFault = vi.fn();
    const { db, lifecycleManager } = database.create({ createTableMs: 0, onFault });
    vi.spyOn(lifecycleManager, 'getState').mockReturnValue('closed');
    expect(String(await new Promise((resolve) => db.get('table~Items', resolve)))).toBe('Error: Database is closed');
    expect(onFault).not.toHaveBeenCalled();
  });

  test('keeps working after a function has ended in the middle of its request to the store', async () => {
    const store = await open([items]);
    const sent = begin(store, 'ListTables', { 'content-length': '100' }).on('error', () => {});
    sent.write('{', () => sent.destroy());
    await new Promise((resolve) => sent.on('close', resolve));
    expect(await put(store, {})).toEqual([200, '{}']);
  });
});
