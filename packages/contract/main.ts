/**
 * `node packages/contract/main.ts <document> <folder>` generates a folder from an OpenAPI document: contract.ts with
 * types, routes and scopes, and for each operation a module that checks the events of its Lambda function.
 */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { parse } from 'yaml';
import type { Contract } from './document.ts';
import { readOperations } from './operations.ts';
import { sourceHash } from './source-hash.ts';
import { capitalize, compileTypes, fileOf } from './types.ts';
import { compileValidators } from './validators.ts';

const [document = '', folder = ''] = process.argv.slice(2);

/** The types of an operation's module. They name what the module checks, so that a wrong handler does not compile. */
const declarationsOf = (id: string): string => `import type { ErrorObject } from 'ajv';
import type { Schemas } from './contract.ts';

type Event = Schemas['${capitalize(id)}Event'];

export const parameters: {
  name: string;
  property: 'pathParameters' | 'queryStringParameters' | 'headers';
  type: 'string' | 'integer' | 'int64' | 'number' | 'boolean';
  isList: boolean;
  default?: unknown;
}[];
export const names: string[];
export const validate: { (event: unknown): event is Event; errors?: ErrorObject[] | null };
`;

const generate = async (): Promise<[file: string, source: string][]> => {
  const sources = sourceHash(document);
  const contract = parse(readFileSync(document, 'utf8')) as Contract;
  const operations = readOperations(contract);
  const types = await compileTypes(contract, operations);
  const validators = await compileValidators(contract, operations);
  const modules = operations.flatMap(({ id }): [string, string][] => {
    const file = fileOf(id);
    return [
      [`${file}.js`, validators[id] ?? ''],
      [`${file}.d.ts`, declarationsOf(id)],
    ];
  });
  const names = modules.map(([file]) => file).join(' ');
  // The file with the hash comes last: if the generator is killed before that, the folder does not pass for complete.
  return [...modules, ['contract.ts', `// SHA-256 of the sources: ${sources}\n\n// Beside it: ${names}\n\n${types}`]];
};

try {
  if (folder === '') throw new Error('Give an OpenAPI document, and a folder, in which nothing else will remain.');
  const files = await generate();
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const [name, source] of files)
    writeFileSync(path.join(folder, name), `// Generated from ${document}. Do not edit.\n\n${source}`);
} catch (error) {
  console.error(`${document}: ${error instanceof Error ? error.message : error}`);
  process.exitCode = 1;
}
