/** Makes the bundles that `npm start` serves, and keeps their source maps. */
import { readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { type BuildOptions, build, stop } from 'esbuild';
import { esbuildOptions, functions, listEntries, setBundle } from '../../infra/bundling.ts';
import { mapOptions, sha256Of, splitOutput } from './stack-traces.ts';

/**
 * esbuild's options for debugging: readable code and a source map. The paths in the map are absolute, because the CDK
 * moves a bundle to another folder.
 */
const debugOptions = {
  minify: false,
  sourcemap: 'inline',
  sourceRoot: pathToFileURL(`${path.dirname(functions)}/`).href,
  absWorkingDir: path.dirname(functions),
} satisfies BuildOptions;

/**
 * esbuild's options for an entry. With `debug`, a debugger can show the sources, but the bundle differs from the one
 * that would be deployed.
 */
export const bundleOptions = (entry: string, debug: boolean) => ({
  ...esbuildOptions(entry),
  ...(debug ? debugOptions : mapOptions),
});

/** Bundles entries in esbuild's own process, so that this process can do other work, such as loading CDK. */
export const prebuildBundles = async ({ debug = false, entries = listEntries() } = {}): Promise<void> => {
  const make = async (entry: string): Promise<void> => {
    const { code, map } = splitOutput(entry, (await build(bundleOptions(entry, debug))).outputFiles);
    setBundle(entry, code.contents);
    if (map !== undefined) keepMap(entry, code.contents, map.text);
  };
  await Promise.all(entries.map(make));
  // Stop esbuild's child process (50 MB); otherwise it idles until we exit.
  await stop();
};

type KeptMap = { sha256: string; text: string; parsed?: SourceMap };

/**
 * The source map of each entry file's newest bundle. Older maps are dropped, because a service that reloads for days
 * would collect thousands of them.
 */
const maps = new Map<string, KeptMap>();

export const keepMap = (entry: string, code: Uint8Array, map: string): void =>
  void maps.set(entry, { sha256: sha256Of(code), text: map });

/**
 * Finds the source map of a bundle by the hash of the bundle's file. Returns undefined if the service runs no bundle
 * with that hash.
 */
export const mapOf = (file: string): SourceMap | undefined => {
  const sha256 = hashOf(file);
  const kept = maps.values().find((each) => each.sha256 === sha256);
  if (kept !== undefined) kept.parsed ??= new SourceMap(JSON.parse(kept.text));
  return kept?.parsed;
};

/**
 * Hashes a file. Returns undefined if the file does not exist, which may happen because the path is from a logged stack
 * trace, and a function may log any text.
 */
const hashOf = (file: string): string | undefined => {
  try {
    return sha256Of(readFileSync(file));
  } catch {
    return undefined;
  }
};
