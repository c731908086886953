/**
 * Corrects dynalite where it behaves unlike DynamoDB: replaces functions that dynalite finds in its own modules. No other
 * file uses private parts of dynalite. embedded-store.test.ts says what breaks if dynalite stops using them.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { EventEmitter } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import dynalite from 'dynalite';
import type { Callback, Index, Item, Lock, Method, Open, Release, Run, Stream, Value } from 'dynalite/db/index.js';
import database from 'dynalite/db/index.js';
import validations from 'dynalite/validations/index.js';
import { isInvalid } from './data-folder.ts';

const { itemSize, checkConditional, create, validationError } = database;
const { queryTable, traverseIndexes, updateIndexes, validateItem } = database;
const { checkValidations } = validations;

/** Refuses an empty attribute name at any depth, and values that are too deep. dynalite itself accepts both. */
validations.checkValidations = (data, ...options) => {
  if (hasEmptyKey(data)) throw validationError('An attribute name must not be empty.');
  checkValidations(data, ...options);
  const refusal = tooDeep(data.ExpressionAttributeValues ?? {});
  if (refusal) throw refusal;
};

const hasEmptyKey = (value: unknown): boolean =>
  value instanceof Object && Object.entries(value).some(([key, inner]) => key === '' || hasEmptyKey(inner));

/**
 * Refuses values of more than 32 levels: text has 1, and each list or map around it adds 1.
 * https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html
 */
const tooDeep = (values: Item): Error | false => isDeeper({ M: values }, 33) && validationError(levelsExceeded);

const levelsExceeded =
  'Nesting Levels have exceeded supported limits: Attributes in the item have nested levels beyond supported limit';

const isDeeper = ({ L, M }: Value, levels: number): boolean =>
  levels === 0 || Object.values(L ?? M ?? {}).some((inner) => isDeeper(inner, levels - 1));

/** Refuses an empty value of a key, as DynamoDB does. dynalite itself checks keys of tables only, and only in items. */
const emptyKey = (value: Value | undefined, reason: string, where: string): Error | undefined => {
  const type = value?.S === '' ? 'string' : value?.B === '' ? 'binary' : undefined;
  const message = `The AttributeValue for a key attribute cannot contain an empty ${type} value.${where}`;
  return type && validationError(`One or more parameter values are not valid.${reason} ${message}`);
};

const notInIndex = ' A value specified for a secondary index key is not supported.';
const notInUpdate =
  ' The update expression attempted to update a secondary index key to a value that is not supported.';
const placeOf = (name: string, index: Index) => ` IndexName: ${index.IndexName}, IndexKey: ${name}`;

database.validateItem = (item, table) =>
  validateItem(item, table) ||
  tooDeep(item) ||
  traverseIndexes(table, (name, _, index) => emptyKey(item[name], notInIndex, placeOf(name, index)));

/** Checks an item after an update, which dynalite's `validateItem` does not see. */
database.updateIndexes = (store, table, old, item, done) => {
  const refusal = item && (tooDeep(item) || traverseIndexes(table, (name) => emptyKey(item[name], notInUpdate, '')));
  if (refusal) done(refusal);
  else updateIndexes(store, table, old, item, done);
};

/**
 * Reads what an index does not project from the table if the index is local; otherwise refuses it, as DynamoDB does.
 * dynalite itself leaves it out. https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_Query.html
 */
database.queryTable = (store, table, data, range, isLocal, readsTable, keyNames, done) => {
  const { IndexName, KeyConditions = {}, QueryFilter = {}, AttributesToGet = [], _filter, _projection } = data;
  const index = traverseIndexes(table, (_name, _type, each) => (each.IndexName === IndexName ? each : undefined));
  for (const [name, { AttributeValueList }] of Object.entries(KeyConditions)) {
    const refusal = index && emptyKey(AttributeValueList[0], notInIndex, placeOf(name, index));
    if (refusal) return done(refusal);
  }
  const { ProjectionType = 'ALL', NonKeyAttributes = [] } = index?.Projection ?? {};
  const isMissing = (name: string) =>
    !readsTable && ProjectionType !== 'ALL' && ![...keyNames, ...NonKeyAttributes].includes(name);
  const filtered = Object.keys((data.KeyConditions && _filter?.pathHeads) ?? QueryFilter).filter(isMissing);
  const requested = (_projection?.paths.map(([name]) => String(name)) ?? AttributesToGet).filter(isMissing);
  const refusal =
    filtered.length > 0
      ? `Secondary index ${IndexName} does not project one or more filter attributes: [${filtered.toSorted().join(', ')}]`
      : requested.length > 0 &&
        !isLocal &&
        `Global secondary index ${IndexName} does not project [${requested.join(', ')}]`;
  if (refusal) return done(validationError(`One or more parameter values were invalid: ${refusal}`));
  queryTable(store, table, data, range, isLocal, readsTable || requested.length > 0, keyNames, done);
};

/** Counts an item's text in UTF-8 bytes, as DynamoDB does. dynalite itself counts characters. */
database.itemSize = (item, ...options) => itemSize(withOneCharacterPerByte(item), ...options);

const withOneCharacterPerByte = (item: unknown): unknown =>
  JSON.parse(Buffer.from(JSON.stringify(item)).toString('latin1'));

/** Compares lists and maps in a condition by value, as DynamoDB does. dynalite itself compares references. */
database.checkConditional = ({ _condition, Expected, ConditionalOperator }, item) => {
  // A folder may have items from an earlier version that are too deep to be copied.
  if (!_condition && !Expected) return null;
  const copy = withSharedDocuments({ data: { _condition, Expected, ConditionalOperator }, item });
  return checkConditional(copy.data, copy.item);
};

/**
 * Copies a value so that equal lists, and equal maps, are one object. Only whole lists are shared, not their elements,
 * because dynalite would take lists of the same elements for equal in any order.
 */
const withSharedDocuments = <Value>(value: Value): Value => {
  const shared = new Map<string, unknown>();
  return JSON.parse(JSON.stringify(value), (key, inner) => {
    const copy = sorted(key, inner);
    if (!['L', 'M'].includes(key)) return copy;
    const json = JSON.stringify(copy);
    if (!shared.has(json)) shared.set(json, copy);
    return shared.get(json);
  });
};

/** Sorts what DynamoDB keeps in no order, so that equal values have the same JSON: sets, and the names in a map. */
const sorted = (key: string, value: unknown): unknown => {
  if (Array.isArray(value)) return ['SS', 'NS', 'BS'].includes(key) ? value.toSorted() : value;
  if (!(value instanceof Object)) return value;
  return Object.fromEntries(Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1)));
};

/** The properties of a request that dynalite's listener uses, besides the events `data` and `end`. */
type ReadRequest = EventEmitter & Pick<IncomingMessage, 'method' | 'url' | 'headers'>;
export type RequestListener = (request: ReadRequest, response: ServerResponse) => void;

/**
 * Makes dynalite's server, whose data is in `folder`, and takes from it the listener that handles its requests. `fault`
 * resolves at the first fault of the database, such as a full disk. LevelDB would then go on, and lose at its next start
 * what it has written since.
 */
export const makeDynalite = (
  folder: string,
): { server: Server; listener: RequestListener; fault: Promise<unknown> } => {
  const { promise: fault, resolve: onFault } = Promise.withResolvers<unknown>();
  const server = dynalite({ path: folder, createTableMs: 0, onFault });
  const [listener] = server.listeners('request') as [RequestListener];
  return { server: server.removeAllListeners('request'), listener, fault };
};

/** Ends a request that has failed. May be called several times. */
type Fail = (error: unknown) => void;

/** Ends the request to which the running code belongs. */
const current = new AsyncLocalStorage<Fail>();

const rethrow: Fail = (error) => {
  throw error;
};

/** Handles a request. Calls `fail` if `handle` throws, or if dynalite throws later because of this request. */
export const handleRequest = (handle: () => void, fail: Fail): void => current.run(fail, () => catching(handle)());

/** Makes a callback end its request if it throws. */
const catching = (callback: Callback): Callback =>
  AsyncLocalStorage.bind((...args: unknown[]) => {
    try {
      callback(...args);
    } catch (error) {
      (current.getStore() ?? rethrow)(error);
    }
  });

/** Makes the callbacks that a method gets end their request if they throw. */
const withCatching =
  (method: Method): Method =>
  (...args) =>
    method(...args.map((arg) => (typeof arg === 'function' ? catching(arg as Callback) : arg)));

/** Also unlocks if the request fails. Otherwise, all later requests for the same item would wait forever. */
const withUnlocking =
  (lock: Lock): Lock =>
  (key, use) =>
    withCatching(lock as Method)(key, (release: Release) => {
      const fail = current.getStore() ?? rethrow;
      let isLocked = true;
      const unlocking: Release = (done) =>
        release((...args) => {
          isLocked = false;
          done(...args);
        });
      const unlockAndFail: Fail = (error) => {
        if (isLocked) unlocking(() => {})();
        fail(error);
      };
      current.run(unlockAndFail, () => catching(() => use(unlocking))());
    });

/**
 * Makes an error of dynalite end only the request that causes it, and reports faults of its database. dynalite throws
 * at some requests, for example if an item lacks the upper bound of BETWEEN, and often in a callback of its database,
 * where no caller can catch the error.
 */
database.create = (options) => {
  const { onFault = rethrow } = options;
  const store = create(options);
  const { db, getItemDb, lifecycleManager } = store;

  /** Never settles if the database has a fault. Invalid values are none, nor is what still runs when it is closed. */
  const unlessFault = <Found>(operation: Promise<Found>): Promise<Found> =>
    operation.catch((error) => {
      if (isInvalid(error) || lifecycleManager.getState() !== 'open') throw error;
      onFault(error);
      return new Promise(() => {});
    });

  const withCallback =
    (run: Run): Method =>
    (...args) => {
      const callback = catching(args.pop() as Callback);
      unlessFault(run(...args)).then(
        (found) => setImmediate(callback, null, found),
        (error) => setImmediate(callback, error),
      );
    };

  let lastWrite = unlessFault(db.open());
  /** Runs one write after the other, and none after a fault. Otherwise, one could succeed before the fault is known. */
  const inTurn =
    (write: Run): Run =>
    (...args) => {
      const written = unlessFault(lastWrite.then(() => write(...args)));
      lastWrite = written.catch(() => {});
      return written;
    };

  const iterating =
    (open: Open): Open =>
    (range) => {
      const iterator = open.call(db, range);
      const next = iterator.next.bind(iterator);
      return Object.assign(iterator, { next: () => unlessFault(next()) });
    };

  const streaming =
    (open: Stream): Stream =>
    (range) => {
      const stream = open(range);
      return Object.assign(stream, { on: withCatching(stream.on.bind(stream) as Method) });
    };

  Object.assign(db, {
    get: withCallback(db.get),
    put: withCallback(inTurn(db.put)),
    del: withCallback(inTurn(db.del)),
    batch: withCallback(inTurn(db.batch)),
    keys: iterating(db.keys),
    values: iterating(db.values),
    createKeyStream: streaming(db.createKeyStream),
    createValueStream: streaming(db.createValueStream),
  });
  return {
    ...store,
    getItemDb: (name) => {
      const items = getItemDb(name);
      return { ...items, lock: withUnlocking(items.lock) };
    },
  };
};
