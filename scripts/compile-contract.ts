/**
 * Generates from schemas/openapi.yaml: TypeScript types for functions/ and client/, the error numbers for client/, and
 * validators for functions/, which are compiled here because Ajv at run time would take half of a cold start.
 */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { _, Ajv2020, type CodeKeywordDefinition } from 'ajv/dist/2020.js';
import standaloneCode from 'ajv/dist/standalone/index.js';
import { compile as compileTypes } from 'json-schema-to-typescript';
import { parse } from 'yaml';

type Schema = { [keyword: string]: unknown };
type Operation = {
  operationId: string;
  responses: Record<string, { content: { 'application/json': { examples: Record<string, { value: unknown }> } } }>;
  requestBody?: { content: { 'application/json': { schema: Schema } } };
};
type Contract = {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema> };
};

const contractFile = new URL('../schemas/openapi.yaml', import.meta.url);
const functionsFolder = new URL('../functions/generated/', import.meta.url);
const clientFolder = new URL('../client/generated/', import.meta.url);

/** Applies `change` to every object inside `value`, innermost first. */
const mapSchemas = (value: unknown, change: (schema: Schema) => Schema): unknown => {
  if (Array.isArray(value)) return value.map((item) => mapSchemas(item, change));
  if (typeof value !== 'object' || value === null) return value;
  return change(Object.fromEntries(Object.entries(value).map(([key, item]) => [key, mapSchemas(item, change)])));
};

/**
 * JSON Schema does not check the range of `format: int64`. This keyword does, for numbers that a double represents
 * exactly and for bigints, which functions/http/json-body.ts makes of numbers that a double might round.
 * https://spec.openapis.org/registry/format/int64
 */
const int64: CodeKeywordDefinition = {
  keyword: 'int64',
  schemaType: 'boolean',
  code(context) {
    const { data } = context;
    context.fail(
      _`!(typeof ${data} === "bigint" ? ${data} === BigInt.asIntN(64, ${data}) : Number.isSafeInteger(${data}))`,
    );
  },
  error: { message: `must be an integer from ${-(2n ** 63n)} to ${2n ** 63n - 1n}` },
};

/** UTF-8 cannot encode an unpaired surrogate, so the store would keep U+FFFD instead of the text that was sent. */
const wellFormed: CodeKeywordDefinition = {
  keyword: 'wellFormed',
  type: 'string',
  schemaType: 'boolean',
  code(context) {
    context.fail(_`!${context.data}.isWellFormed()`);
  },
  error: { message: 'must not contain unpaired surrogates' },
};

const withOwnKeywords = (schema: Schema): Schema => {
  if (schema['type'] === 'integer' && schema['format'] === 'int64') {
    const { type, format, description, ...others } = schema;
    // Ajv's keywords for numbers ignore bigints, so a `minimum`, for example, would not be checked.
    if (Object.keys(others).length > 0)
      throw new Error(`This script does not support ${Object.keys(others)} of an int64 yet.`);
    return { int64: true };
  }
  if (schema['type'] === 'string') return { ...schema, wellFormed: true };
  return schema;
};

const header = '// Made from schemas/openapi.yaml by `npm ci`. Do not edit.\n';

/** Compiles a validator for each operation with a JSON body. It checks an event whose `body` has been parsed. */
const compileValidators = (contract: Contract): Record<'js' | 'dts', string> => {
  const ajv = new Ajv2020({
    allErrors: true,
    strict: true,
    code: { source: true, esm: true, lines: true },
    keywords: [int64, wellFormed, 'components'],
  });
  ajv.addSchema(
    { $id: 'contract', components: mapSchemas(contract.components, withOwnKeywords) },
    undefined,
    false,
    false,
  );
  const operations = Object.values(contract.paths)
    .flatMap((path) => Object.values(path))
    .flatMap(({ operationId, requestBody }) => {
      const body = requestBody?.content['application/json'].schema;
      return body === undefined ? [] : [{ operationId, schemaName: nameOf(body) }];
    });
  for (const { operationId, schemaName } of operations) {
    const body = { $ref: `contract#/components/schemas/${schemaName}` };
    ajv.addSchema({ type: 'object', required: ['body'], properties: { body } }, operationId);
  }
  return {
    js: header + standaloneCode.default(ajv, Object.fromEntries(operations.map(({ operationId: id }) => [id, id]))),
    dts: [
      header,
      "import type { ErrorObject } from 'ajv';",
      `import type { ${[...new Set(operations.map(({ schemaName }) => schemaName))].join(', ')} } from './contract.ts';\n`,
      'export type Validator<Event> = { (event: unknown): event is Event; errors?: ErrorObject[] | null };\n',
      ...operations.map(
        ({ operationId, schemaName }) => `export const ${operationId}: Validator<{ body: ${schemaName} }>;`,
      ),
      '',
    ].join('\n'),
  };
};

/** Returns NAME from `#/components/schemas/NAME`. Bodies must be references, so that their types have names. */
const nameOf = ({ $ref }: Schema): string => {
  const name = typeof $ref === 'string' ? /^#\/components\/schemas\/(\w+)$/.exec($ref)?.[1] : undefined;
  if (name === undefined)
    throw new Error('A request body in schemas/openapi.yaml must be a $ref to #/components/schemas/');
  return name;
};

const typeOfInt64 = (schema: Schema): Schema =>
  schema['format'] === 'int64' ? { ...schema, tsType: 'number | bigint' } : schema;

const compileContractTypes = ({ components }: Contract): Promise<string> => {
  const names = Object.keys(components.schemas);
  const named = Object.fromEntries(names.map((name) => [name, { title: name, ...components.schemas[name] }]));
  return compileTypes(
    {
      type: 'object',
      required: names,
      properties: Object.fromEntries(names.map((name) => [name, { $ref: `#/components/schemas/${name}` }])),
      ...{ components: { schemas: mapSchemas(named, typeOfInt64) } },
    },
    'Schemas',
    { additionalProperties: false, bannerComment: header, format: false },
  );
};

/** Collects the permanent number of every error that the contract's examples show. */
const compileErrorCodes = ({ paths }: Contract): string => {
  const examples = Object.values(paths)
    .flatMap((path) => Object.values(path))
    .flatMap(({ responses }) => Object.values(responses))
    .flatMap(({ content }) => Object.values(content['application/json'].examples));
  const codes = examples.flatMap(({ value }) => (value instanceof Object && 'error' in value ? [value.error] : []));
  return `${header}export const errorCodes = ${JSON.stringify([...new Set(codes)])} as const;\n`;
};

const contract = parse(await readFile(contractFile, 'utf8')) as Contract;
const validators = compileValidators(contract);
const types = await compileContractTypes(contract);
for (const folder of [functionsFolder, clientFolder]) {
  await mkdir(folder, { recursive: true });
  await writeFile(new URL('contract.ts', folder), types);
}
await writeFile(new URL('error-codes.ts', clientFolder), compileErrorCodes(contract));
await writeFile(new URL('validators.js', functionsFolder), validators.js);
await writeFile(new URL('validators.d.ts', functionsFolder), validators.dts);
