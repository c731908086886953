import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

/** Hashes what code is generated from: a document, and this package, whose manifest pins the libraries that it uses. */
export const sourceHash = (document: string): string => {
  const code = readdirSync(import.meta.dirname).filter((file) => file.endsWith(path.extname(import.meta.filename)));
  // In an installed package, the manifest is in the folder above.
  const manifest = ['package.json', '../package.json'].filter((file) =>
    existsSync(path.join(import.meta.dirname, file)),
  );
  const own = [...code.sort(), ...manifest.slice(0, 1)];
  const files = [document, ...own.map((file) => path.join(import.meta.dirname, file))];
  return files.reduce((hash, file) => hash.update(readFileSync(file)), createHash('sha256')).digest('hex');
};
