/** Keeps dynalite running after its own errors, and stops it at faults of its database. Includes dynalite-fixes.ts. */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { EventEmitter } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import dynalite from 'dynalite';
import type { Callback, Lock, Method, Open, Release, Run, Stream } from 'dynalite/db/index.js';
import database from 'dynalite/db/index.js';
import { isInvalid } from './data-folder.ts';
import './dynalite-fixes.ts';

const { create } = database;

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
