/** The source maps of the bundles that `npm start` serves. */
import { readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { sha256Of } from './stack-traces.ts';

type KeptMap = { sha256: string; text: string; parsed?: SourceMap };

/**
 * The source map of each entry file's newest bundle. Older maps are dropped, because a service that reloads for days
 * would collect thousands of them.
 */
const maps = new Map<string, KeptMap>();

/** Stores the source map (JSON) of an entry file's new bundle, and drops the map of the old bundle. */
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
