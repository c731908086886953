/** Generates the files for an OpenAPI document, or says where in the document something is wrong. */
import { readFileSync } from 'node:fs';
import { type Document, LineCounter, parseDocument, visit } from 'yaml';
import { type Contract, Refusal } from './document.ts';
import { readOperations } from './operations.ts';
import { sourceHash } from './source-hash.ts';
import { capitalize, compileTypes, fileOf } from './types.ts';
import { compileValidators } from './validators.ts';

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

const filesOf = async (sources: string, contract: Contract): Promise<[file: string, source: string][]> => {
  const operations = readOperations(contract);
  const validators = await compileValidators(contract, operations);
  const types = await compileTypes(contract, operations);
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

/**
 * Generates the files for a document.
 * @throws Error whose message begins with the file, and the line and column if they are known
 */
export const generate = async (file: string): Promise<[file: string, source: string][]> => {
  const counter = new LineCounter();
  const document = parseDocument(readFileSync(file, 'utf8'), { lineCounter: counter });
  const [syntaxError] = document.errors;
  // The message names line and column, and shows the line.
  if (syntaxError) throw new Error(`${file}: ${syntaxError.message}`);
  for (const { message } of document.warnings) console.warn(`${file}: ${message}`);
  const at = (offset = 0): string => {
    const { line, col } = counter.linePos(offset);
    return `${file}:${line}:${col}`;
  };
  visit(document, {
    Alias: (_, alias) => {
      const [start = 0] = alias.range ?? [];
      const [from = 0, , to = 0] = alias.resolve(document)?.range ?? [];
      if (to === 0) throw new Error(`${at(start)}: There is no anchor &${alias.source} before it.`);
      if (from <= start && start < to) throw new Error(`${at(start)}: The anchor &${alias.source} contains itself.`);
    },
  });
  const contract: Contract = document.toJS();
  try {
    return await filesOf(sourceHash(file), contract);
  } catch (error) {
    if (!(error instanceof Refusal)) throw new Error(`${file}: ${(error as Error).message}`, { cause: error });
    const keys = [...(keysOf(contract, error.at) ?? []), ...error.keys];
    const pointer = ['#', ...keys.map((key) => key.replaceAll('~', '~0').replaceAll('/', '~1'))].join('/');
    throw new Error(`${at(offsetOf(document, keys))}: ${error.message} (${pointer})`, { cause: error });
  }
};

/** Finds an object in a value, and returns the keys that lead to it. */
const keysOf = (value: unknown, part: object): string[] | undefined => {
  if (value === part) return [];
  for (const [key, inner] of value instanceof Object ? Object.entries(value) : []) {
    const keys = keysOf(inner, part);
    if (keys) return [key, ...keys];
  }
  return undefined;
};

/** Where the value at the keys begins; if the document has none there, the innermost part that should have it. */
const offsetOf = (document: Document, keys: string[]): number => {
  // YAML reads the key of a status as a number, unless it is quoted.
  const numbers = keys.map((key) => (/^\d+$/.test(key) ? Number(key) : key));
  const node: unknown = document.getIn(keys, true) ?? document.getIn(numbers, true);
  const [start] = (node instanceof Object && 'range' in node && (node.range as number[])) || [];
  return start ?? (keys.length > 0 ? offsetOf(document, keys.slice(0, -1)) : 0);
};
