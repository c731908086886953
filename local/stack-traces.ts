/** Stack traces of the bundles: finds them in what a function logged, and says which lines of the sources they mean. */
import { createHash } from 'node:crypto';
import { SourceMap } from 'node:module';
import path from 'node:path';
import { type BuildOptions, buildSync, type OutputFile } from 'esbuild';
import { esbuildOptions, listEntries } from '../infra/bundling.ts';

/**
 * esbuild's options for a source map beside the bundle, with paths relative to the project's folder. The bundle itself
 * stays as it is deployed, and the map is not deployed.
 */
export const mapOptions = {
  sourcemap: 'external',
  sourcesContent: false,
  outfile: path.resolve(import.meta.dirname, '../index.js'),
} satisfies BuildOptions;

/** Finds the bundle of an entry, and its source map unless the map is inline, in what esbuild has produced. */
export const splitOutput = (entry: string, files: OutputFile[]): { code: OutputFile; map: OutputFile | undefined } => {
  const isMap = ({ path }: OutputFile): boolean => path.endsWith('.map');
  const code = files.find((file) => !isMap(file));
  if (code === undefined) throw new Error(`esbuild produced no output for ${entry}.`);
  return { code, map: files.find(isMap) };
};

export const sha256Of = (code: Uint8Array): string => createHash('sha256').update(code).digest('hex');

/** Thrown if a stack trace is of a bundle that cannot be made from the files in this folder. */
export class OtherBundle extends Error {
  override readonly name = 'OtherBundle';
}

/**
 * Translates stack traces with the bundles of the files in this folder. The bundles are made once, when the first stack
 * trace is read.
 */
export class StackTraces {
  #made: { entry: string; sha256: string; map: SourceMap }[] | undefined;

  /** The SHA-256 of each bundle, with its entry, as text for the user. */
  describe(): string {
    return this.#bundles.map(({ entry, sha256 }) => `${sha256} (functions/${entry})`).join(', ');
  }

  /**
   * Says which lines of the sources a stack trace means.
   * @param sha256 is the hash of the bundle that ran
   * @throws OtherBundle
   */
  toSources(stack: string, sha256: string): string {
    const map = this.#bundles.find((each) => each.sha256 === sha256)?.map;
    if (map === undefined)
      throw new OtherBundle(`The bundle ${sha256} ran, but the files in this folder make ${this.describe()}.`);
    return toSources(stack, () => map);
  }

  get #bundles() {
    this.#made ??= listEntries().map((entry) => {
      const options = { ...esbuildOptions(entry), ...mapOptions, logLevel: 'silent' } as const;
      const { code, map } = splitOutput(entry, buildSync(options).outputFiles);
      return { entry, sha256: sha256Of(code.contents), map: new SourceMap(JSON.parse(map?.text ?? '')) };
    });
    return this.#made;
  }
}

/**
 * Matches a place in a bundle, such as /var/task/index.js:25:26897, and the function's name before it if that is
 * minified.
 */
const place = /((?<=\bat (?:async )?)(?:new )?[\w$]{1,3} \()?(?<![^\s"'()])([^\s"'()]*\/index\.js):(\d+):(\d+)(\)?)/g;

/**
 * Replaces each place in a bundle, such as /var/task/index.js:25:26897, by its file, line and column in the sources.
 * @param mapOf returns the source map of a bundle, whose path the place has; undefined keeps the place
 */
export const toSources = (stack: string, mapOf: (bundle: string) => SourceMap | undefined): string =>
  stack.replaceAll(place, (found, minified = '', bundle: string, line: string, column: string, end: string) => {
    const origin = mapOf(bundle)?.findEntry(Number(line) - 1, Number(column) - 1);
    if (origin === undefined || !('originalSource' in origin)) return found;
    const { originalSource, originalLine, originalColumn } = origin;
    return `${originalSource}:${originalLine + 1}:${originalColumn + 1}${minified === '' ? end : ''}`;
  });

/** Returns whether a text has places in bundles. */
export const hasPlaces = (text: string): boolean => text.search(place) >= 0;

/**
 * A log entry of a function, taken apart: `rest` is the entry without stack traces; `stacks` has each stack trace as
 * text of several lines, outermost error first.
 */
export type Unfolded = { rest: string; stacks: string[]; sha256?: string };

/**
 * Separates the stack traces from a function's log entry. Also removes the bundle's SHA-256 and the `omitted` fields.
 */
export const takeStacks = (logged: unknown, omitted: string[] = []): Unfolded => {
  const stacks: string[] = [];
  let sha256: string | undefined;
  const rest = JSON.stringify(logged, (key, value) => {
    if (key === 'bundle' && /^[0-9a-f]{64}$/.test(value)) {
      sha256 = value;
      return undefined;
    }
    if (omitted.includes(key)) return undefined;
    // Our lines have `stack`; an error that Lambda itself logs has `stackTrace`, an array of lines.
    const stack = key === 'stackTrace' && Array.isArray(value) ? value.join('\n') : key === 'stack' ? value : undefined;
    if (typeof stack !== 'string' || !/^[ \t]+at /m.test(stack)) return value;
    stacks.push(stack);
    return undefined;
  });
  return { rest, stacks, ...(sha256 !== undefined && { sha256 }) };
};
