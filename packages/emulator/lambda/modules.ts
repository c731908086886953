/**
 * Finds packages, and tells ES modules from CommonJS, as on Lambda, where no folder is above the function's code:
 * https://docs.aws.amazon.com/lambda/latest/dg/nodejs-layers.html
 * https://docs.aws.amazon.com/lambda/latest/dg/lambda-nodejs.html
 */
import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { createRequire, findPackageJSON, isBuiltin, type LoadHookSync, registerHooks } from 'node:module';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { compileFunction } from 'node:vm';

/**
 * Lets the code in the folder `taskRoot` use only its own packages, those of its layers, and the AWS SDK. The last layer
 * wins.
 */
export const limitModules = (taskRoot: string, layerFolders: string[], runtime: string): void => {
  const root = realpathSync(taskRoot);
  const layers = layerFolders.map((each) => realpathSync(each)).reverse();
  // The order of NODE_PATH on Lambda: for nodejs24.x, first /opt/nodejs/node24, then /opt/nodejs, then the SDK.
  const shared = [runtime.replace(/js(\d+)\.x/, 'js/node$1'), 'nodejs'].flatMap((folder) =>
    layers.map((layer) => path.join(layer, folder)),
  );
  const withSdk = [...upwards(path.dirname(root)), ...upwards(import.meta.dirname)];
  const homeOf = (file: string) => [root, ...layers].find((folder) => file.startsWith(folder + path.sep));

  // https://nodejs.org/api/packages.html#self-referencing-a-package-using-its-name
  const isSelf = (file: string, name: string): boolean => {
    const manifest = manifestFor(file);
    if (manifest === undefined || homeOf(manifest) === undefined) return false;
    const own = JSON.parse(readFileSync(manifest, 'utf8'));
    return own.name === name && own.exports !== undefined;
  };

  registerHooks({
    resolve: (specifier, context, next) => {
      const parent = pathOf(context.parentURL);
      const home = homeOf(parent);
      if (home === undefined) return next(specifier, context);
      if (specifier.startsWith('/opt/')) return next(inLayers(layers, specifier), context);
      const [name] = /^(@[^/:]+\/)?[^./:#@][^/:]*(?=\/|$)/.exec(specifier) ?? [];
      if (name === undefined || isBuiltin(specifier)) return next(specifier, context);
      const isSdk = /^@(aws-sdk|smithy)\//.test(name);
      const own = upwards(path.dirname(parent), home);
      const from = [...own, ...shared, ...(isSdk ? withSdk : [])].find((folder) =>
        existsSync(path.join(folder, 'node_modules', name)),
      );
      if (from === undefined && isSelf(parent, name)) return next(specifier, context);
      const isImport = context.conditions.includes('import');
      if (from === undefined) throw notFound(specifier, parent, isImport, isSdk);
      const parentURL = pathToFileURL(path.join(from, 'index.js')).href;
      if (own.includes(from) || isImport) return next(specifier, { ...context, parentURL });
      return { url: pathToFileURL(createRequire(parentURL).resolve(specifier)).href, shortCircuit: true };
    },
  });

  // Without this hook, modules load faster.
  if ([root, ...layers].some((folder) => manifestFor(folder) !== undefined))
    registerHooks({ load: (...load) => loadAlone(homeOf, ...load) });
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

/** Finds a module in /opt, where Lambda puts the files of all layers. */
const inLayers = (layers: string[], specifier: string): string => {
  const files = layers.map((layer) => path.join(layer, specifier.slice('/opt'.length)));
  const isThere = (file: string) => ['', '.js', '.mjs', '.cjs', '.json'].some((end) => existsSync(file + end));
  return files.find(isThere) ?? specifier;
};

const notFound = (specifier: string, parent: string, isImport: boolean, isSdk: boolean): Error => {
  const advice = isSdk
    ? 'On Lambda, it is preinstalled: install it in the app, or bundle it.'
    : 'Lambda has it only if it is bundled with the function, or in a layer.';
  const code = isImport ? 'ERR_MODULE_NOT_FOUND' : 'MODULE_NOT_FOUND';
  const message = `Cannot find module '${specifier}'\nRequire stack:\n- ${parent}\n${advice}`;
  return Object.assign(new Error(message), { code });
};

/** Loads a module as if no package.json were above the function's code. Here, one may be, and have a `type`. */
const loadAlone = (
  homeOf: (file: string) => string | undefined,
  ...[url, context, next]: Parameters<LoadHookSync>
): ReturnType<LoadHookSync> => {
  const file = url.endsWith('.js') ? pathOf(url) : '';
  if (homeOf(file) === undefined) return next(url, context);
  const manifest = manifestFor(file);
  if (manifest === undefined || homeOf(manifest) !== undefined) return next(url, context);
  const format = isEsModule(readFileSync(file, 'utf8')) ? 'module' : 'commonjs';
  // Node would import a CommonJS module by the type in the package.json above, but takes one that is already loaded.
  if (format === 'commonjs' && context.conditions.includes('import')) createRequire(url)(file);
  return { ...next(url, { ...context, format }), format };
};

/** Matches code that may be an ES module. Other code need not be compiled to find that out, which takes 12 ms. */
const esmSyntax = /(?:^|[\n;}/])\s*(?:import|export)(?:\s*["'{*]|\s+\w)|\bimport\.meta\b/;

/** Whether Node.js would detect an ES module: https://nodejs.org/api/packages.html#syntax-detection */
const isEsModule = (code: string): boolean => {
  if (process.execArgv.includes('--no-experimental-detect-module') || !esmSyntax.test(code)) return false;
  try {
    compileFunction(code, ['exports', 'require', 'module', '__filename', '__dirname']);
    return false;
  } catch {
    return true;
  }
};
