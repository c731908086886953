import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

/** Hashes what code is generated from: a document, and this package, whose manifest pins the libraries that it uses. */
export const sourceHash = (document: string): string => {
  const own = readdirSync(import.meta.dirname).filter((file) => /\.(?:ts|json)$/.test(file));
  const files = [document, ...own.sort().map((file) => path.join(import.meta.dirname, file))];
  return files.reduce((hash, file) => hash.update(readFileSync(file)), createHash('sha256')).digest('hex');
};
