/**
 * `node packages/contract/main.ts <document> <folder>` generates a folder from an OpenAPI document: contract.ts with
 * types, routes and scopes, and for each operation a module that checks the events of its Lambda function. With
 * `--if-changed`, it does nothing if the folder is from the document as it is now.
 */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { generate } from './generate.ts';
import { isCurrent } from './source-hash.ts';

const [document = '', folder = '', ifChanged] = process.argv.slice(2);

try {
  if (folder === '') throw new Error('Give an OpenAPI document, and a folder, in which nothing else will remain.');
  if (ifChanged !== '--if-changed' || !isCurrent(document, folder)) {
    const files = await generate(document);
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true });
    for (const [name, source] of files)
      writeFileSync(path.join(folder, name), `// Generated from ${document}. Do not edit.\n\n${source}`);
  }
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
