/** The source maps of the bundles that `npm start` serves. */
import { readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { sha256Of } from './stack-traces.ts';

type KeptMap = { sha256: string; text: string; parsed?: SourceMap };

/**
 * The source map of each entry's newest bundle. Older ones are dropped, because a service that reloads for days would
 * collect thousands.
 */
const maps = new Map<string, KeptMap>();

/** Keeps the source map of an entry's new bundle in place of the old one. `map` is JSON. */
export const keepMap = (entry: string, code: Uint8Array, map: string): void =>
  void maps.set(entry, { sha256: sha256Of(code), text: map });

/**
 * Returns the source map of the bundle in a file, found by the hash of the file; undefined if no such bundle is served.
 */
export const mapOf = (file: string): SourceMap | undefined => {
  const sha256 = hashOf(file);
  const kept = maps.values().find((each) => each.sha256 === sha256);
  if (kept !== undefined) kept.parsed ??= new SourceMap(JSON.parse(kept.text));
  return kept?.parsed;
};

/**
 * Hashes a file. Returns undefined if the file does not exist: its path is from a stack trace, which is just text that
 * a function logged.
 */
const hashOf = (file: string): string | undefined => {
  try {
    return sha256Of(readFileSync(file));
  } catch {
    return undefined;
  }
};
