import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { findPackageJSON } from 'node:module';
import path from 'node:path';

/** Hashes what code is generated from: a document, and this package, whose manifest pins the libraries that it uses. */
export const sourceHash = (document: string): string => {
  const code = readdirSync(import.meta.dirname).filter((file) => file.endsWith(path.extname(import.meta.filename)));
  // In an installed package, the manifest is in the folder above.
  const own = [
    ...code.sort().map((file) => path.join(import.meta.dirname, file)),
    findPackageJSON(import.meta.url) ?? '',
  ];
  const files = [document, ...own];
  return files.reduce((hash, file) => hash.update(readFileSync(file)), createHash('sha256')).digest('hex');
};
