/** Finds and loads a function's handler: https://docs.aws.amazon.com/lambda/latest/dg/nodejs-handler.html */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { types } from 'node:util';
import { RuntimeError } from './reports.ts';

type Handler = (event: unknown, context: object, callback?: Callback) => unknown;
type Callback = (error?: unknown, result?: unknown) => void;
type OnIdle = (settle: () => void) => void;

/** Whether a runtime still has what Lambda's nodejs24.x has changed. */
export const isBeforeNode24 = (runtime: string): boolean => Number(/\d+/.exec(runtime)) < 24;

/**
 * Loads the handler `name`, such as `index.handler` or `src/orders.create`, from a folder. `runtime` is Lambda's name.
 * `onIdle` calls its argument once nothing is left to run.
 * @throws RuntimeError, or the error that the module threw
 */
export const loadHandler = async (folder: string, name: string, runtime: string, onIdle: OnIdle): Promise<Handler> => {
  const { file, exportName } = parse(name);
  const handler = findExport(await loadModule(path.resolve(folder, file)), exportName);
  if (!handler) throw new RuntimeError('HandlerNotFound', `${name} is undefined or not exported`);
  if (typeof handler !== 'function') throw new RuntimeError('HandlerNotFound', `${name} is not a function`);
  if (isBeforeNode24(runtime)) return withCallback(handler as Handler, onIdle);
  if (handler.length < 3) return handler as Handler;
  throw new RuntimeError('CallbackHandlerDeprecated', 'From nodejs24.x on, use an async handler, not a callback.');
};

/** Splits a handler's name at the first dot after the last slash. The part after that dot may name a nested export. */
const parse = (name: string): { file: string; exportName: string } => {
  const [, file, exportName] = /^((?:.*\/)?[^./]+)\.([^/]+)$/.exec(name) ?? [];
  if (file === undefined || exportName === undefined || name.includes('..'))
    throw new RuntimeError('MalformedHandlerName', `'${name}' is not a valid handler name.`);
  return { file, exportName };
};

const loadModule = async (file: string): Promise<unknown> => {
  const found = ['', '.js', '.mjs', '.cjs'].map((extension) => `${file}${extension}`).find((each) => existsSync(each));
  if (found === undefined) throw new RuntimeError('ImportModuleError', `Error: Cannot find module '${file}'`);
  try {
    // Unlike `require`, `import` also loads modules that use top-level await.
    return await import(pathToFileURL(found).href);
  } catch (error) {
    if (error instanceof SyntaxError) {
      // The stack of a syntax error in a CommonJS module begins with FILE:LINE. For an ES module, Node does not reveal
      // the line of a syntax error, so name only the file.
      const [place] = error.stack?.match(/^\/.*:\d+$/m) ?? [found];
      throw Object.assign(new RuntimeError('UserCodeSyntaxError', `${error} (${place})`), { stack: error.stack });
    }
    if (Object(error).code === 'MODULE_NOT_FOUND') throw new RuntimeError('ImportModuleError', String(error));
    throw error;
  }
};

/** Finds an export, or a field of the default export, by its name. `name` may be a path such as `orders.create`. */
const findExport = (module: unknown, name: string): unknown => {
  const findIn = (from: unknown): unknown => name.split('.').reduce((value, key) => Object(value)[key], from);
  return findIn(module) ?? findIn(Object(module).default);
};

/**
 * Lets a handler respond by a callback or by methods of the context, as on Lambda before nodejs24.x:
 * https://github.com/aws/aws-lambda-nodejs-runtime-interface-client/blob/1ab99907/src/Runtime.js
 */
const withCallback =
  (handler: Handler, onIdle: OnIdle): Handler =>
  (event, context) => {
    // Only the first call of these functions counts.
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const idle = types.isAsyncFunction(handler) ? undefined : new Promise<void>(onIdle);
    void idle?.then(() => resolve(null));
    const done: Callback = (error, result) => ((error ?? null) === null ? resolve(result) : reject(error));
    const fail = (error: unknown) => reject(error ?? 'handled');
    const all = { ...context, callbackWaitsForEmptyEventLoop: true, succeed: resolve, fail, done };
    const callback: Callback = (error, result) =>
      done(error, all.callbackWaitsForEmptyEventLoop && idle ? idle.then(() => result) : result);
    const returned = handler(event, all, callback);
    if (returned instanceof Object && 'then' in returned) Promise.resolve(returned).then(resolve, reject);
    return promise;
  };
