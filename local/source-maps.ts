/** The source maps of the bundles that `npm start` serves. */
import { readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { sha256Of } from './stack-traces.ts';

type KeptMap = { sha256: string; text: string; parsed?: SourceMap };

/** One map for each entry, because a service that reloads for days would otherwise keep thousands. */
const maps = new Map<string, KeptMap>();

/** Keeps the map of the bundle that an entry has from now on. `map` is JSON. */
export const keepMap = (entry: string, code: Uint8Array, map: string): void =>
  void maps.set(entry, { sha256: sha256Of(code), text: map });

/** Returns the map of the bundle in a file, by the file's content; undefined if no such bundle is served. */
export const mapOf = (file: string): SourceMap | undefined => {
  const sha256 = hashOf(file);
  const kept = maps.values().find((each) => each.sha256 === sha256);
  if (kept !== undefined) kept.parsed ??= new SourceMap(JSON.parse(kept.text));
  return kept?.parsed;
};

/** A stack trace is text that a function logged, so its file may not exist. */
const hashOf = (file: string): string | undefined => {
  try {
    return sha256Of(readFileSync(file));
  } catch {
    return undefined;
  }
};
