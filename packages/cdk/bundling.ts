import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { type BuildOptions, type BuildResult, buildSync, type OutputFile } from 'esbuild';

/** The folder of the entry files, in the project's folder, in which every command runs. */
export const functions = path.resolve('functions');

const stubs = path.join(import.meta.dirname, 'sdk-stubs');

/**
 * Modules that the SDK imports and hardly any function needs, each with the stub that replaces it. The stubs save almost
 * half of a bundle's size and load time. docs/decisions/functions.md says which test fails if the SDK changes.
 */
const stubbed: Record<string, string> = {
  '@aws-sdk/credential-provider-node': path.join(stubs, 'credentials.ts'),
  '@aws-sdk/middleware-endpoint-discovery': path.join(stubs, 'endpoint-discovery.ts'),
  '@smithy/core/event-streams': path.join(stubs, 'event-streams.ts'),
  'node:fs/promises': path.join(stubs, 'files.cjs'),
};

/** Returns the stubs for an entry. A line `// @real-module node:fs/promises` in the entry leaves out that stub. */
const stubsFor = (file: string): Record<string, string> => {
  const real = new Set(
    Array.from(readFileSync(file, 'utf8').matchAll(/^\/\/ @real-module (\S+)\s*$/gm), ([, name]) => name),
  );
  return Object.fromEntries(Object.entries(stubbed).filter(([name]) => !real.has(name)));
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
    alias: stubsFor(path.join(functions, entry)),
    metafile: true,
    write: false,
  }) satisfies BuildOptions;

/**
 * Finds an entry's bundle in the result of esbuild. `map` is the source map as JSON, or undefined if it is in `code`.
 * @throws Error that says what to do if a file other than the SDK's got a stub
 */
export const outputOf = (entry: string, { outputFiles: files = [], metafile }: BuildResult) => {
  for (const [file, { imports }] of Object.entries(metafile?.inputs ?? {})) {
    const found = imports.find((each) => each.path.includes('/sdk-stubs/'))?.original;
    if (found !== undefined && !/(?:^|\/)node_modules\/@(?:aws-sdk|smithy)\//.test(file))
      throw new Error(
        `${file} imports ${found}, in whose place bundles have a stub. If it needs the real module, add this line to functions/${entry}: // @real-module ${found}`,
      );
  }
  const isMap = ({ path }: OutputFile): boolean => path.endsWith('.map');
  const code = files.find((file) => !isMap(file));
  if (code === undefined) throw new Error(`esbuild produced no output for ${entry}.`);
  return { code: code.contents, map: files.find(isMap)?.text };
};

const bundles = new Map<string, Uint8Array>();

/** Uses `code` as the bundle of an entry file. `npm start` bundles in esbuild's own process, which is faster. */
export const setBundle = (entry: string, code: Uint8Array): void => {
  bundles.set(entry, code);
};

export const listEntries = (): string[] => readdirSync(functions).filter((file) => file.endsWith('.lambda.ts'));

/** Returns the bundle of an entry file in functions/: one JavaScript file. @example bundle('authorizer.lambda.ts') */
export const bundle = (entry: string): Uint8Array => {
  const code = bundles.get(entry) ?? outputOf(entry, buildSync(esbuildOptions(entry))).code;
  setBundle(entry, code);
  return code;
};
