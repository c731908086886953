import { readdirSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { type BuildOptions, build, buildSync, type OutputFile, stop } from 'esbuild';

export const functions = fileURLToPath(new URL('../functions', import.meta.url));

/**
 * Parts of the AWS SDK that no function here uses, though the SDK imports them, and the files below functions/ that a
 * bundle has in their place: two fifths of its size, and of the time that it takes to load. Where the SDK comes to need more
 * of such a part than the file has, esbuild refuses the bundle; where it gets at them by another name,
 * test/infra/bundles.test.ts notices.
 */
const replaced = {
  '@aws-sdk/credential-provider-node': 'replaced/credentials.ts',
  '@aws-sdk/middleware-endpoint-discovery': 'replaced/endpoint-discovery.ts',
  '@smithy/core/event-streams': 'replaced/event-streams.ts',
};

/** How an entry becomes one file. The SDK is that of the lock file, not the one that the runtime happens to bring. */
export const esbuildOptions = (entry: string) =>
  ({
    entryPoints: [path.join(functions, entry)],
    bundle: true,
    minify: true,
    platform: 'node',
    target: 'node24',
    // CommonJS output starts faster than ESM, whose import of node:http also loads undici.
    format: 'cjs',
    // Libraries' ESM sources can be shaken, their CommonJS builds cannot: 195 KB less.
    mainFields: ['module', 'main'],
    alias: Object.fromEntries(Object.entries(replaced).map(([part, file]) => [part, path.join(functions, file)])),
    logLevel: 'warning',
    write: false,
  }) satisfies BuildOptions;

/** The bundles that were made ahead, by entry. */
const ahead = new Map<string, OutputFile[]>();

/** Has all bundles made by esbuild's own process while this one is busy, with loading the CDK say. */
export const bundleAhead = async (): Promise<void> => {
  const entries = readdirSync(functions).filter((file) => file.endsWith('.lambda.ts'));
  const make = async (entry: string) => ahead.set(entry, (await build(esbuildOptions(entry))).outputFiles);
  await Promise.all(entries.map(make));
  // Else it would wait for more, with 50 MB, for as long as this process lives.
  await stop();
};

/** An entry as one file of JavaScript. */
export const bundle = (entry: string): Uint8Array => {
  const [file] = ahead.get(entry) ?? buildSync(esbuildOptions(entry)).outputFiles;
  if (file === undefined) throw new Error(`esbuild made nothing of ${entry}`);
  return file.contents;
};
