/**
 * Finds packages, and tells ES modules from CommonJS, as on Lambda, where no folder is above the function's code:
 * https://docs.aws.amazon.com/lambda/latest/dg/lambda-nodejs.html
 */
import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { createRequire, findPackageJSON, isBuiltin, type LoadHookSync, registerHooks } from 'node:module';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { compileFunction } from 'node:vm';

/** Lets the code in the folder `taskRoot` use only its own packages, and the AWS SDK. */
export const limitModules = (taskRoot: string): void => {
  const root = realpathSync(taskRoot);
  const withSdk = [...upwards(path.dirname(root)), ...upwards(import.meta.dirname)];
  const isOwn = (file: string) => file.startsWith(root + path.sep);

  registerHooks({
    resolve: (specifier, context, next) => {
      const parent = pathOf(context.parentURL);
      const [name] = /^(@[^/:]+\/)?[^./:#@][^/:]*(?=\/|$)/.exec(specifier) ?? [];
      if (!isOwn(parent) || name === undefined || isBuiltin(specifier)) return next(specifier, context);
      const isSdk = /^@(aws-sdk|smithy)\//.test(name);
      const own = upwards(path.dirname(parent), root);
      const from = [...own, ...(isSdk ? withSdk : [])].find((folder) =>
        existsSync(path.join(folder, 'node_modules', name)),
      );
      const isImport = context.conditions.includes('import');
      if (from === undefined) throw notFound(specifier, parent, isImport, isSdk);
      const parentURL = pathToFileURL(path.join(from, 'index.js')).href;
      if (own.includes(from) || isImport) return next(specifier, { ...context, parentURL });
      return { url: pathToFileURL(createRequire(parentURL).resolve(specifier)).href, shortCircuit: true };
    },
  });

  // Without this hook, modules load faster.
  if (manifestFor(root) !== undefined) registerHooks({ load: (...load) => loadAlone(isOwn, ...load) });
};

/** A folder and those above it, up to `top`. */
const upwards = (folder: string, top = path.parse(folder).root): string[] =>
  folder === top ? [folder] : [folder, ...upwards(path.dirname(folder), top)];

/** Finds the package.json that applies to a file or folder. Without one, Node.js returns the file or folder itself. */
const manifestFor = (file: string): string | undefined => {
  const found = findPackageJSON(pathToFileURL(file));
  return found === file ? undefined : found;
};

const pathOf = (url: string | undefined): string => (url?.startsWith('file:') ? fileURLToPath(url) : '');

const notFound = (specifier: string, parent: string, isImport: boolean, isSdk: boolean): Error => {
  const advice = isSdk
    ? 'On Lambda, it is preinstalled: install it in the app, or bundle it.'
    : 'Lambda has it only if it is bundled with the function.';
  const code = isImport ? 'ERR_MODULE_NOT_FOUND' : 'MODULE_NOT_FOUND';
  const message = `Cannot find module '${specifier}'\nRequire stack:\n- ${parent}\n${advice}`;
  return Object.assign(new Error(message), { code });
};

/** Loads a module as if no package.json were above the function's code. Here, one may be, and have a `type`. */
const loadAlone = (
  isOwn: (file: string) => boolean,
  ...[url, context, next]: Parameters<LoadHookSync>
): ReturnType<LoadHookSync> => {
  const file = url.endsWith('.js') ? pathOf(url) : '';
  if (!isOwn(file)) return next(url, context);
  const manifest = manifestFor(file);
  if (manifest === undefined || isOwn(manifest)) return next(url, context);
  const format = isEsModule(readFileSync(file, 'utf8')) ? 'module' : 'commonjs';
  // Node would import a CommonJS module by the type in the package.json above, but takes one that is already loaded.
  if (format === 'commonjs' && context.conditions.includes('import')) createRequire(url)(file);
  return { ...next(url, { ...context, format }), format };
};

/** Matches code that may be an ES module. Other code need not be compiled to find that out, which takes 12 ms. */
const esmSyntax = /(?:^|[\n;}/])\s*(?:import|export)(?:\s*["'{*]|\s+\w)|\bimport\.meta\b/;

/** Whether Node.js would detect an ES module: https://nodejs.org/api/packages.html#syntax-detection */
const isEsModule = (code: string): boolean => {
  if (!esmSyntax.test(code)) return false;
  try {
    compileFunction(code, ['exports', 'require', 'module', '__filename', '__dirname']);
    return false;
  } catch {
    return true;
  }
};
