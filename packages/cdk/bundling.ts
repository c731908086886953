import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { type BuildOptions, type BuildResult, buildSync, type OutputFile } from 'esbuild';

/** The folder of the entry files, in the project's folder, in which every command runs. */
export const functions = path.resolve('functions');

/** The file of a stub: TypeScript in a workspace, JavaScript in an installed package. */
const stub = (name: string): string =>
  path.join(import.meta.dirname, 'sdk-stubs', name + path.extname(import.meta.filename));

/**
 * Modules that the SDK imports and hardly any function needs, each with the stub that replaces it. The stubs save almost
 * half of a bundle's size and load time. packages/runtime/decisions.md says which test fails if the SDK changes.
 */
const stubs: Record<string, string> = {
  '@aws-sdk/credential-provider-node': stub('credentials'),
  '@aws-sdk/middleware-endpoint-discovery': stub('endpoint-discovery'),
  '@smithy/core/event-streams': stub('event-streams'),
  'node:fs/promises': stub('files'),
};

/**
 * Returns the stubs for an entry. A line such as `// @real-module node:fs/promises` in it leaves out that stub.
 * @throws Error if there is no such stub
 */
const stubsFor = (entry: string): Record<string, string> => {
  const lines = readFileSync(path.join(functions, entry), 'utf8').matchAll(/^\/\/\s*@real-module\s+(\S+)/gm);
  const real = Array.from(lines, ([, name = '']) => name);
  const unknown = real.find((name) => !Object.hasOwn(stubs, name));
  if (unknown !== undefined)
    throw new Error(
      `functions/${entry} has the line // @real-module ${unknown}, but only these have stubs: ${Object.keys(stubs).join(', ')}.`,
    );
  return Object.fromEntries(Object.entries(stubs).filter(([name]) => !real.includes(name)));
};

/**
 * Returns esbuild's options for an entry file. The bundle contains the AWS SDK, in the version that package-lock.json
 * names, so the function does not depend on the SDK in the Lambda runtime.
 */
export const esbuildOptions = (entry: string) =>
  ({
    entryPoints: [path.join(functions, entry)],
    bundle: true,
    minify: true,
    platform: 'node',
    target: 'node24',
    // CommonJS output starts faster than ESM: if ESM imports node:http, Node.js also loads undici.
    format: 'cjs',
    // Prefer a library's ES modules: esbuild removes unused code from them, but not from CommonJS. This saves 195 KB.
    mainFields: ['module', 'main'],
    alias: stubsFor(entry),
    metafile: true,
    write: false,
  }) satisfies BuildOptions;

const advice = (entry: string, name: string): string =>
  `Bundles replace ${name} with a stub. To use the real module, add this line to functions/${entry}: // @real-module ${name}`;

/** Rethrows what esbuild has thrown. If a stub lacks a name that the function imports, the error says what to do. */
export const explainError = (entry: string, error: unknown): never => {
  // esbuild quotes paths relative to the current folder.
  const quotesStub = ([, file]: [string, string]) => String(error).includes(`"${path.relative('', file)}"`);
  const [name] = Object.entries(stubs).find(quotesStub) ?? [];
  if (name !== undefined && error instanceof Error) error.message += `\n${advice(entry, name)}`;
  throw error;
};

/**
 * Finds an entry's bundle in the result of esbuild. `map` is the source map as JSON, if esbuild made one beside the code.
 * @throws Error that says what to do if a file other than the SDK's got a stub
 */
export const outputOf = (entry: string, { outputFiles: files = [], metafile }: BuildResult) => {
  for (const [file, { imports }] of Object.entries(metafile?.inputs ?? {})) {
    const found = imports.find((each) => stubs[each.original ?? ''] === path.resolve(each.path))?.original;
    if (found !== undefined && !/(?:^|\/)node_modules\/@(?:aws-sdk|smithy)\//.test(file))
      throw new Error(`${file} imports ${found}. ${advice(entry, found)}`);
  }
  const isMap = ({ path }: OutputFile): boolean => path.endsWith('.map');
  const code = files.find((file) => !isMap(file));
  if (code === undefined) throw new Error(`esbuild produced no output for ${entry}.`);
  return { code: code.contents, map: files.find(isMap)?.text };
};

const bundles = new Map<string, Uint8Array>();

/** Uses `code` as the bundle of an entry file. */
export const setBundle = (entry: string, code: Uint8Array): void => {
  bundles.set(entry, code);
};

export const listEntries = (): string[] => readdirSync(functions).filter((file) => file.endsWith('.lambda.ts'));

const build = (entry: string) => {
  const options = esbuildOptions(entry);
  try {
    return outputOf(entry, buildSync(options));
  } catch (error) {
    return explainError(entry, error);
  }
};

const { PREBUILT_BUNDLES: descriptor } = process.env;

/** Whether a program serves this app on this machine. It then makes the bundles meanwhile. */
export const isServedHere = descriptor !== undefined;

/** Waits for the file of each entry's bundle, as JSON on a file descriptor, and uses these bundles. */
const usePrebuilt = (): void => {
  const files: Record<string, string> = JSON.parse(readFileSync(Number(descriptor), 'utf8'));
  for (const [entry, file] of Object.entries(files)) setBundle(entry, readFileSync(file));
};

/** Returns the bundle of an entry file in functions/: one JavaScript file. @example bundle('authorizer.lambda.ts') */
export const bundle = (entry: string): Uint8Array => {
  if (isServedHere && bundles.size === 0) usePrebuilt();
  const code = bundles.get(entry) ?? build(entry).code;
  setBundle(entry, code);
  return code;
};

/**
 * Lists the source files and packages (as keys of package-lock.json) that contribute code to an entry's bundle.
 * `generatedBytes` is the size of the code that comes from the contract.
 */
export const bundleInputs = (entry: string): { files: string[]; packages: string[]; generatedBytes: number } => {
  const { metafile } = buildSync(esbuildOptions(entry));
  const inputs = Object.values(metafile.outputs).flatMap((output) => Object.entries(output.inputs));
  const files = inputs.filter(([, { bytesInOutput }]) => bytesInOutput > 0).map(([file]) => file);
  const packageOf = (file: string): string[] =>
    /node_modules\/(?:.*\/node_modules\/)?(?:@[^/]+\/)?[^/]+/.exec(file) ?? [];
  const generated = inputs.filter(([file]) => file.startsWith('functions/generated/'));
  return {
    generatedBytes: generated.reduce((sum, [, { bytesInOutput }]) => sum + bytesInOutput, 0),
    files: files.filter((file) => packageOf(file).length === 0).sort(),
    packages: [...new Set(files.flatMap(packageOf))].sort(),
  };
};
