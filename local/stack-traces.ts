/** Stack traces of the bundles: finds them in what a function logged, and says which lines of the sources they mean. */
import { createHash } from 'node:crypto';
import { SourceMap } from 'node:module';
import path from 'node:path';
import { type BuildOptions, buildSync, type OutputFile } from 'esbuild';
import { esbuildOptions, listEntries } from '../infra/bundling.ts';

/** The source map, which is not deployed, has paths relative to the project's folder. The bundle stays as it is. */
export const mapOptions = {
  sourcemap: 'external',
  sourcesContent: false,
  outfile: path.resolve(import.meta.dirname, '../index.js'),
} satisfies BuildOptions;

/** Returns the bundle of an entry, and its source map unless that is inline. */
export const splitOutput = (entry: string, files: OutputFile[]): { code: OutputFile; map: OutputFile | undefined } => {
  const isMap = ({ path }: OutputFile): boolean => path.endsWith('.map');
  const code = files.find((file) => !isMap(file));
  if (code === undefined) throw new Error(`esbuild produced no output for ${entry}.`);
  return { code, map: files.find(isMap) };
};

export const sha256Of = (code: Uint8Array): string => createHash('sha256').update(code).digest('hex');

/** Thrown for a stack trace of a bundle that the files in this folder do not make. */
export class OtherBundle extends Error {
  override readonly name = 'OtherBundle';
}

/** Knows the bundles that the files in this folder make. They are made once, when the first stack trace is read. */
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

/** A place in a bundle, such as /var/task/index.js:25:26897, with the function's name if it is minified. */
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

/** What a function logged, without its stack traces, and these as text of several lines, outermost error first. */
export type Unfolded = { rest: string; stacks: string[]; sha256?: string };

/** Takes the stack traces, the SHA-256 of the bundle, and the `omitted` fields out of what a function logged. */
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
