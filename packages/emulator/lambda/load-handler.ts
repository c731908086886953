/** Finds and loads a function's handler: https://docs.aws.amazon.com/lambda/latest/dg/nodejs-handler.html */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { RuntimeError } from './reports.ts';

type Handler = (event: unknown, context: object) => unknown;

/**
 * Loads the handler `name`, such as `index.handler` or `src/orders.create`, from a folder.
 * @throws RuntimeError, or the error that the module threw
 */
export const loadHandler = async (folder: string, name: string): Promise<Handler> => {
  const { file, exportName } = parse(name);
  const handler = findExport(await loadModule(path.resolve(folder, file)), exportName);
  if (!handler) throw new RuntimeError('HandlerNotFound', `${name} is undefined or not exported`);
  if (typeof handler !== 'function') throw new RuntimeError('HandlerNotFound', `${name} is not a function`);
  if (handler.length < 3) return handler as Handler;
  throw new RuntimeError('CallbackHandlerDeprecated', 'Use an async handler, not a callback, as nodejs24.x requires.');
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
