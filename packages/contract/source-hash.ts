import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
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

/** Whether the code in a folder is complete, and made from the document as it is now by the generator as it is now. */
export const isCurrent = (document: string, folder: string): boolean => {
  try {
    const contract = readFileSync(path.join(folder, 'contract.ts'), 'utf8');
    const [, modules = ''] = /^\/\/ Beside it: (.*)/m.exec(contract) ?? [];
    const exist = modules.split(' ').every((file) => existsSync(path.join(folder, file)));
    return exist && contract.includes(sourceHash(document));
  } catch {
    return false;
  }
};
