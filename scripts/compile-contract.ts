/**
 * Generates a folder from an OpenAPI document: contract.ts with types, routes and scopes, and for each operation a
 * module that checks the events of its Lambda function.
 */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { Command } from 'commander';
import { parse } from 'yaml';
import { type Contract, readOperations } from './contract/operations.ts';
import { capitalize, compileTypes } from './contract/types.ts';
import { compileValidators } from './contract/validators.ts';

const [document = '', folder = ''] = new Command('compile-contract.ts')
  .description('Generates types and validators from a contract.')
  .argument('<contract>', 'an OpenAPI 3.1 document in YAML')
  .argument('<folder>', 'the folder for the generated files, which replace all others in it')
  .showHelpAfterError()
  .parse().args;

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
export const validate: { (event: unknown): event is Event; errors?: ErrorObject[] | null };
`;

const generate = async (): Promise<[file: string, source: string][]> => {
  const contract = parse(readFileSync(document, 'utf8')) as Contract;
  const operations = readOperations(contract);
  const [types, validators] = await Promise.all([
    compileTypes(contract, operations),
    compileValidators(contract, operations),
  ]);
  const modules = operations.flatMap(({ id }): [string, string][] => {
    const file = id.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
    return [
      [`${file}.js`, validators[id] ?? ''],
      [`${file}.d.ts`, declarationsOf(id)],
    ];
  });
  return [['contract.ts', types], ...modules];
};

try {
  const files = await generate();
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const [name, source] of files)
    writeFileSync(path.join(folder, name), `// Generated from ${document}. Do not edit.\n\n${source}`);
} catch (error) {
  console.error(`${document}: ${error instanceof Error ? error.message : error}`);
  process.exitCode = 1;
}
