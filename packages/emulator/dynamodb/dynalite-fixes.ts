/**
 * Corrects dynalite where it behaves unlike DynamoDB: replaces functions that dynalite finds in its own modules. No other
 * file uses private parts of dynalite.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { EventEmitter } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import dynalite from 'dynalite';
import database, { type Callback, type Database, type Lock, type Method, type Release } from 'dynalite/db/index.js';
import validations from 'dynalite/validations/index.js';
import { isInvalid } from './data-folder.ts';

const { itemSize, checkConditional, create, validationError } = database;
const { checkValidations } = validations;

/** Refuses an empty attribute name at any depth, as DynamoDB does. dynalite itself would store it. */
validations.checkValidations = (data, ...options) => {
  if (hasEmptyKey(data)) throw validationError('An attribute name must not be empty.');
  checkValidations(data, ...options);
};

const hasEmptyKey = (value: unknown): boolean =>
  value instanceof Object && Object.entries(value).some(([key, inner]) => key === '' || hasEmptyKey(inner));

/** Counts an item's text in UTF-8 bytes, as DynamoDB does. dynalite itself counts characters. */
database.itemSize = (item, ...options) => itemSize(withOneCharacterPerByte(item), ...options);

const withOneCharacterPerByte = (item: unknown): unknown =>
  JSON.parse(Buffer.from(JSON.stringify(item)).toString('latin1'));

/** Compares lists and maps in a condition by value, as DynamoDB does. dynalite itself compares references. */
database.checkConditional = ({ _condition, Expected, ConditionalOperator }, item) => {
  // dynalite accepts deeper items than can be copied.
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

/** Makes dynalite's server, whose data is in `folder`, and takes from it the listener that handles its requests. */
export const makeDynalite = (folder: string): { server: Server; listener: RequestListener } => {
  const server = dynalite({ path: folder, createTableMs: 0 });
  const [listener] = server.listeners('request') as [RequestListener];
  return { server: server.removeAllListeners('request'), listener };
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
      // dynalite throws what its database reports, such as a full disk. That must end the process.
      const isDatabaseFault = error === args[0] && !isInvalid(error);
      const fail = isDatabaseFault ? rethrow : (current.getStore() ?? rethrow);
      fail(error);
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

const databaseWithCatching = (of: Database): Database => ({
  ...of,
  get: withCatching(of.get),
  put: withCatching(of.put),
  del: withCatching(of.del),
  batch: withCatching(of.batch),
  lock: withUnlocking(of.lock),
  createValueStream: (...options) => streamWithCatching(of.createValueStream(...options)),
});

const streamWithCatching = (stream: NodeJS.EventEmitter) =>
  Object.assign(stream, { on: withCatching(stream.on.bind(stream) as Method) });

/**
 * Makes an error of dynalite end only the request that causes it. dynalite throws at some requests, for example if an
 * item lacks the upper bound of BETWEEN, and often in a callback of its database, where no caller can catch the error.
 */
database.create = (options) => {
  const store = create(options);
  return {
    ...store,
    getTable: withCatching(store.getTable),
    getItemDb: (...names) => databaseWithCatching(store.getItemDb(...names)),
    getIndexDb: (...names) => databaseWithCatching(store.getIndexDb(...names)),
    getTagDb: (...names) => databaseWithCatching(store.getTagDb(...names)),
  };
};
