/** Makes the bundles of the functions, keeps their source maps, and translates stack traces with them. */
import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { SourceMap } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { esbuildOptions, explainError, functions, listEntries, outputOf } from '@lambda-service/cdk/bundling';
import { type BuildOptions, type BuildResult, build, stop } from 'esbuild';
import { messageOf, ourCommand } from '../terminal.ts';

/**
 * esbuild's options for a separate source map, with paths relative to the project's folder. The bundle stays the same
 * as the deployed one, and the map is not deployed.
 */
const mapOptions = {
  sourcemap: 'external',
  sourcesContent: false,
  outfile: path.resolve('index.js'),
} satisfies BuildOptions;

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
  // Whoever bundles prints the errors.
  logLevel: 'silent' as const,
});

/**
 * A function's bundle. `sha256` is the hash of `code`; `map` is the source map as JSON, or undefined if `code` contains
 * the source map.
 */
export type Bundle = { code: Uint8Array; sha256: string; map: string | undefined };

/** Waits for the result of esbuild. @throws Error with the file and line of each error */
export const bundleOf = async (entry: string, building: Promise<BuildResult>): Promise<Bundle> => {
  const built = await building.catch(async (error) => {
    // A Ctrl-C also ends esbuild's process, perhaps before this process gets its own signal, which then ends it.
    if (!('errors' in error)) await new Promise((resolve) => setTimeout(resolve, 100));
    return explainError(entry, error);
  });
  const output = outputOf(entry, built);
  return { ...output, sha256: sha256Of(output.code) };
};

/** Bundles all entries in esbuild's own process, so that this process can load other code meanwhile. */
export const prebuildBundles = async ({ debug = false } = {}): Promise<Map<string, Bundle>> => {
  const make = async (entry: string) => bundleOf(entry, build(bundleOptions(entry, debug)));
  const bundles = await Promise.all(listEntries().map(async (entry) => [entry, await make(entry)] as const));
  for (const [entry, bundle] of bundles) keepBundle(entry, bundle);
  // Stop esbuild's child process (50 MB); otherwise it idles until we exit.
  await stop();
  return new Map(bundles);
};

/** Writes a bundle to a new folder in `assets`, and returns the path of its file. */
export const writeBundle = async (assets: string, { code }: Bundle): Promise<string> => {
  const file = path.join(await mkdtemp(path.join(assets, 'bundle-')), 'index.js');
  await writeFile(file, code);
  return file;
};

/** Writes bundles as `writeBundle` does. @returns the file of each entry's bundle */
export const writeBundles = async (assets: string, bundles: Map<string, Bundle>): Promise<Record<string, string>> =>
  Object.fromEntries(
    await Promise.all(Array.from(bundles, async ([entry, made]) => [entry, await writeBundle(assets, made)] as const)),
  );

type KeptMap = { sha256: string; text: string; parsed?: SourceMap };

/**
 * The source map of each entry file's newest bundle. Older maps are dropped, because a service that reloads for days
 * would collect thousands of them.
 */
const maps = new Map<string, KeptMap>();

export const sha256Of = (code: Uint8Array): string => hash('sha256', code);

/** Keeps the source map of an entry's bundle. */
export const keepBundle = (entry: string, { sha256, map }: Bundle): void => {
  if (map !== undefined) maps.set(entry, { sha256, text: map });
};

/** Lists the hashes of the bundles whose source maps are kept, each with its entry file. */
export const listMaps = (): string =>
  [...maps].map(([entry, { sha256 }]) => `${sha256} (functions/${entry})`).join(', ');

/** Returns the source map of the bundle with a hash, or undefined if no bundle with that hash was made. */
export const mapOf = (sha256: string | undefined): SourceMap | undefined => {
  const kept = maps.values().find((each) => each.sha256 === sha256);
  if (kept !== undefined) kept.parsed ??= new SourceMap(JSON.parse(kept.text));
  return kept?.parsed;
};

/**
 * Hashes a file. Returns undefined if the file does not exist, which may happen because the path is from a logged stack
 * trace, and a function may log any text.
 */
export const hashOf = (file: string): string | undefined => {
  try {
    return sha256Of(readFileSync(file));
  } catch {
    return undefined;
  }
};

/** Matches a position in a bundle, such as /var/task/index.js:25:26897, and any minified function name before it. */
const place = /((?<=\bat (?:async )?)(?:new )?[\w$]{1,3} \()?(?<![^\s"'()])([^\s"'()]*\/index\.js):(\d+):(\d+)(\)?)/g;

/**
 * Replaces each position in a bundle, such as /var/task/index.js:25:26897, by its source file, line and column.
 * @param mapAt returns the source map of the bundle at a path; if it returns undefined, the position is kept
 */
export const toSources = (stack: string, mapAt: (bundle: string) => SourceMap | undefined): string =>
  stack.replaceAll(place, (found, minified = '', bundle: string, line: string, column: string, end: string) => {
    const origin = mapAt(bundle)?.findEntry(Number(line) - 1, Number(column) - 1);
    if (origin === undefined || !('originalSource' in origin)) return found;
    const { originalSource, originalLine, originalColumn } = origin;
    return `${originalSource}:${originalLine + 1}:${originalColumn + 1}${minified === '' ? end : ''}`;
  });

/**
 * Waits until functions with these bundles are loaded.
 * @throws Error whose stack traces point to the sources, if a function cannot be loaded
 */
export const whenLoaded = async <T>(loading: Promise<T>, bundles: Iterable<Bundle>): Promise<T> => {
  try {
    return await loading;
  } catch (error) {
    const mapAt = (file: string): SourceMap | undefined => {
      const sha256 = hashOf(file);
      const { map } = [...bundles].find((made) => made.sha256 === sha256) ?? {};
      return map === undefined ? undefined : new SourceMap(JSON.parse(map));
    };
    const withoutNode = messageOf(error).replaceAll(/\n +at [^\n]*\bnode:[^\n]*/g, '');
    throw new Error(toSources(withoutNode, mapAt), { cause: error });
  }
};

/**
 * Returns a log with source lines in its stack traces. Finds a map by the hash of the bundle's file, not by the hash in
 * the log, which a function could log wrongly.
 */
export const withSources = <Log>(log: Log): Log => {
  const text = JSON.stringify(log);
  return text.includes('/index.js:') ? JSON.parse(toSources(text, (file) => mapOf(hashOf(file)))) : log;
};

/**
 * Translates a stack trace of the bundle with a hash.
 * @throws Error with a message for the user if this folder's files make other bundles, or if the hash is not known
 */
export const inSources = (stack: string, sha256: string | undefined): string => {
  if (!hasPlaces(stack)) return stack;
  if (sha256 === undefined) {
    throw new Error(
      `The log does not say which bundle ran. Give it to ${ourCommand} stack-trace --bundle <sha256>: the function's variable BUNDLE_SHA256 has it. The files in this folder make ${listMaps()}.`,
    );
  }
  const map = mapOf(sha256);
  if (map !== undefined) return toSources(stack, () => map);
  throw new Error(
    `The bundle ${sha256} ran, but the files in this folder make ${listMaps()}.\nCheck out the commit that was deployed when the line was logged (on GitHub, see the runs of the workflow Deploy), run npm ci, and try again.`,
  );
};

export const hasPlaces = (text: string): boolean => text.search(place) >= 0;
