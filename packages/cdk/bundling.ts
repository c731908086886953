import { readdirSync } from 'node:fs';
import path from 'node:path';
import { type BuildOptions, buildSync } from 'esbuild';

/** The folder of the entry files, in the project's folder, in which every command runs. */
export const functions = path.resolve('functions');

const stub = (file: string): string => path.join(import.meta.dirname, 'sdk-stubs', file);

/**
 * Modules of the SDK and of Node.js that no function needs, each with the stub that replaces it. The stubs save almost
 * half of a bundle's size and load time. docs/decisions/functions.md says which test fails if the SDK changes.
 */
const stubs = {
  '@aws-sdk/credential-provider-node': stub('credentials.ts'),
  '@aws-sdk/middleware-endpoint-discovery': stub('endpoint-discovery.ts'),
  '@smithy/core/event-streams': stub('event-streams.ts'),
  'node:fs/promises': stub('files.ts'),
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
    alias: stubs,
    write: false,
  }) satisfies BuildOptions;

const bundles = new Map<string, Uint8Array>();

/** Uses `code` as the bundle of an entry file. `npm start` bundles in esbuild's own process, which is faster. */
export const setBundle = (entry: string, code: Uint8Array): void => {
  bundles.set(entry, code);
};

export const listEntries = (): string[] => readdirSync(functions).filter((file) => file.endsWith('.lambda.ts'));

/** Returns the bundle of an entry file in functions/: one JavaScript file. @example bundle('authorizer.lambda.ts') */
export const bundle = (entry: string): Uint8Array => {
  const code = bundles.get(entry) ?? buildSync(esbuildOptions(entry)).outputFiles[0]?.contents;
  if (code === undefined) throw new Error(`esbuild produced no output for ${entry}.`);
  setBundle(entry, code);
  return code;
};
