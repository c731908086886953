/** Compiles a validator for each operation's events in advance: at run time, Ajv would take half of a cold start. */
import path from 'node:path';
import { _, Ajv2020, type CodeKeywordDefinition, type KeywordCxt } from 'ajv/dist/2020.js';
import { _Code, type Name } from 'ajv/dist/compile/codegen/code.js';
import standaloneCode from 'ajv/dist/standalone/index.js';
import addFormats from 'ajv-formats';
import { build } from 'esbuild';
import { checkValues, compileOrRefuse } from './ajv-refusals.ts';
import { type Contract, Refusal, resolve, type Schema } from './document.ts';
import { eventProperties, type Operation, parametersByPlace } from './operations.ts';
import { mapSchema, mapSchemas, notSupported, withoutAnnotations } from './schemas.ts';

/**
 * The value of our keyword `range`, which says what numbers are valid; `condition` is a JavaScript expression about the
 * number `x`. With `int64`, the number may be a bigint; otherwise, the validator converts a bigint to a double.
 */
type Range = { integer: boolean; int64: boolean; orNull: boolean; condition: string; text: string };

/**
 * An Ajv keyword that checks numbers, including bigints.
 * Ajv's own keywords do not support bigints.
 */
const range: CodeKeywordDefinition = {
  keyword: 'range',
  schemaType: 'object',
  // Ajv runs this keyword before `const` and `enum`, which must compare numbers: this keyword turns bigints into
  // numbers.
  before: 'const',
  code(context: KeywordCxt) {
    const { integer, int64, orNull, condition } = context.schema as Range;
    const { gen, data, it } = context;
    if (!int64) {
      // With the type integer, an integer that a double would round stays a bigint, which this check then refuses.
      // Another schema of an `anyOf` may still accept the bigint.
      const isExact = integer ? _`Number.isSafeInteger(Number(${data}))` : _`true`;
      gen.if(_`typeof ${data} === "bigint" && ${isExact}`, () => {
        gen.assign(data as Name, _`Number(${data})`);
        gen.assign(_`${it.parentData}[${it.parentDataProperty}]` as Name, data);
      });
    }
    const isNumber = `(typeof x === "bigint" || Number.${integer ? 'isSafeInteger' : 'isFinite'}(x))`;
    const isValid = `${orNull ? 'x === null || ' : ''}${isNumber} && ${condition}`;
    const parts = `!(${isValid})`.split(/\bx\b/).flatMap((part) => [data as Name, part]);
    context.fail(new _Code(parts.slice(1)));
  },
  error: { message: ({ schema }) => `must be ${(schema as Range).text}` },
};

/**
 * An Ajv keyword that refuses text with an unpaired surrogate: UTF-8 cannot encode that, so the store would keep U+FFFD
 * instead.
 */
const wellFormed: CodeKeywordDefinition = {
  keyword: 'wellFormed',
  type: 'string',
  schemaType: 'boolean',
  code(context) {
    context.fail(_`!${context.data}.isWellFormed()`);
  },
  error: { message: 'must not contain unpaired surrogates' },
};

/** The limits of each integer format. An integer without a format must be a safe integer. */
export const integerLimits: Record<string, [min: bigint, max: bigint]> = {
  int32: [-(2n ** 31n), 2n ** 31n - 1n],
  // The definition of int64: https://spec.openapis.org/registry/format/int64
  int64: [-(2n ** 63n), 2n ** 63n - 1n],
};
export const safeIntegers: [min: bigint, max: bigint] = [
  BigInt(Number.MIN_SAFE_INTEGER),
  BigInt(Number.MAX_SAFE_INTEGER),
];

/** Any day of a year, and February 29 of leap years. */
const days = [
  String.raw`\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\d|30)|02-(?:0[1-9]|1\d|2[0-8]))`,
  String.raw`(?:\d\d(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)-02-29`,
];
const date = `(?:${days.join('|')})`;
const hour = String.raw`(?:[01]\d|2[0-3])`;
const time = String.raw`${hour}(?::[0-5]\d){2}(?:\.\d+)?(?:z|[+-]${hour}:[0-5]\d)`;
const { source: uriReference } = addFormats.default.get('uri-reference') as RegExp;

/**
 * Replaces the formats that ajv-formats checks with functions: one such function would bring all of ajv-formats into a
 * bundle, 8 KB. Dates and times are those of RFC 3339, but without leap seconds, which JavaScript's Date refuses, too.
 */
const formats = {
  date: new RegExp(`^${date}$`),
  time: new RegExp(`^${time}$`, 'i'),
  'date-time': new RegExp(`^${date}t${time}$`, 'i'),
  byte: /^(?:[a-z\d+/]{4})*(?:[a-z\d+/]{2}==|[a-z\d+/]{3}=)?$/i,
  // A reference with a scheme. The lookahead also refuses `"`, which ajv-formats allows in a reference.
  uri: new RegExp(`^(?=[a-z][a-z\\d+.-]*:[^"]*$)${uriReference.slice(1)}`, 'i'),
};

/** Also removes annotations, which would otherwise be in a bundle if Ajv copies a schema into the code. */
const withOwnKeywords = (annotated: Schema, original: Schema): Schema => {
  const schema = withoutAnnotations(annotated);
  const types = [schema['type']].flat();
  const [type, ...others] = types.filter((each) => each !== 'null');
  const isNumber = types.includes('integer') || types.includes('number');
  if (isNumber && others.length > 0) throw notSupported(`The type ${types.join(' or ')}`, original, 'type');
  if (types.includes('string')) return { ...schema, wellFormed: true };
  if (!isNumber) return schema;
  const unsupported = Object.keys(schema).find((keyword) => !numberKeywords.includes(keyword));
  if (unsupported) throw notSupported(`${unsupported} of a number`, original, unsupported);
  return numberSchema(schema, type === 'integer', types.includes('null'));
};

/** The keywords that a number may have. */
const numberKeywords = [
  ...['type', 'format', 'enum', 'const', 'readOnly', 'writeOnly'],
  ...['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'],
];

const numberSchema = (schema: Schema, integer: boolean, orNull: boolean): Schema => {
  const { type, format = '', minimum, maximum, exclusiveMinimum, exclusiveMaximum, ...others } = schema;
  const [least, most] = integer ? (integerLimits[String(format)] ?? safeIntegers) : [];
  // Use the schema's limit or the format's, whichever is stricter.
  const min = typeof minimum === 'number' && (least === undefined || minimum > least) ? minimum : least;
  const max = typeof maximum === 'number' && (most === undefined || maximum < most) ? maximum : most;
  const literal = (limit: unknown) =>
    typeof limit === 'bigint' && !Number.isSafeInteger(Number(limit)) ? `${limit}n` : `${limit}`;
  const limits = [
    { limit: min, operator: '>=', words: `of at least ${min}` },
    { limit: max, operator: '<=', words: `of at most ${max}` },
    { limit: exclusiveMinimum, operator: '>', words: `above ${exclusiveMinimum}` },
    { limit: exclusiveMaximum, operator: '<', words: `below ${exclusiveMaximum}` },
  ].filter(({ limit }) => limit !== undefined);
  const condition = limits.map(({ limit, operator }) => `x ${operator} ${literal(limit)}`).join(' && ') || 'true';
  const words = limits.map((each) => each.words).join(' and ');
  const isRange = limits.length === 2 && limits.every(({ operator }) => operator.endsWith('='));
  const text = [integer ? 'an integer' : 'a number', isRange ? `from ${min} to ${max}` : words, orNull && 'or null'];
  return {
    ...others,
    range: { integer, int64: format === 'int64', orNull, condition, text: text.filter(Boolean).join(' ') },
  };
};

/** Returns the schema that an operation's event must match once its parameters and body have been parsed. */
const eventSchema = (contract: Contract, { parameters, body }: Operation): Schema => {
  const places = parametersByPlace(contract, parameters).map(({ property, here, required }) => {
    const properties = Object.fromEntries(here.map(({ name, schema }) => [name, schema]));
    return [property, { type: 'object', required, properties }];
  });
  const properties = { ...Object.fromEntries(places), ...(body && { body }) };
  return { type: 'object', required: Object.keys(properties), properties };
};

/** Lists what it takes to turn the text of each parameter into a value. */
const parameterList = (contract: Contract, { parameters }: Operation): object[] =>
  parameters.map(({ name, in: place, schema }) => {
    const { type, items, default: value } = resolve(contract, schema);
    const item: Schema = type === 'array' ? resolve(contract, Object(items)) : resolve(contract, schema);
    const scalar = item['type'];
    if (!['string', 'integer', 'number', 'boolean'].includes(String(scalar)) || (type === 'array' && place !== 'query'))
      throw new Refusal(`The parameter ${name} has a type that is not supported.`, schema);
    return {
      name,
      property: eventProperties[place],
      type: item['format'] === 'int64' ? 'int64' : scalar,
      isList: type === 'array',
      ...(value !== undefined && { default: value }),
    };
  });

/** Lists the names of fields and parameters in a schema of an event, and in the contract's components. */
const namesIn = ({ components }: Contract, event: Schema): string[] => {
  const names = new Set<string>();
  mapSchemas({ ...components.schemas, event }, (schema) => {
    for (const name of Object.keys(Object(schema['properties']))) names.add(name);
    return schema;
  });
  return [...names];
};

/**
 * Refuses a default for a list, because all requests without the parameter would share that list. Also refuses a
 * default for an int64, because the generated JSON cannot contain a bigint.
 */
const checkDefault = (contract: Contract, ajv: Ajv2020, { name, schema }: Operation['parameters'][number]): void => {
  const { default: value, ...others } = resolve(contract, schema);
  const isBesideRef = schema['$ref'] !== undefined && schema['default'] !== undefined;
  const isOther = others['type'] === 'array' || others['format'] === 'int64';
  if (isBesideRef || (value !== undefined && isOther))
    throw notSupported(`The default of the parameter ${name}`, schema);
  if (value !== undefined && !ajv.validate(forAjv(schema), value))
    throw new Refusal(`The default of the parameter ${name} does not match the parameter's schema.`, schema);
};

/**
 * Adds our own keywords to a schema outside `components`, and makes its references point to the contract's components,
 * which Ajv has under the id `contract`.
 */
const forAjv = (schema: Schema): Schema =>
  JSON.parse(JSON.stringify(mapSchema(schema, withOwnKeywords)).replaceAll('"#/components/', '"contract#/components/'));

/**
 * Returns a JavaScript module for each operation. The module's `validate` checks an event, its `parameters` says how to
 * parse the event's parameters, and its `names` lists names that are from the contract, not from a client.
 */
export const compileValidators = async (
  contract: Contract,
  operations: Operation[],
): Promise<Record<string, string>> => {
  const ajv = new Ajv2020({
    allErrors: true,
    strict: true,
    strictRequired: false,
    allowUnionTypes: true,
    code: { source: true, esm: true, lines: true },
    keywords: [range, wellFormed, 'components'],
  });
  addFormats.default(ajv);
  for (const [name, format] of Object.entries(formats)) ajv.addFormat(name, format);
  // Make Ajv refuse these formats, because each would bring all of ajv-formats into a bundle.
  for (const name of ['regex', 'iso-time', 'iso-date-time']) delete ajv.formats[name];
  const schemas = mapSchemas(contract.components.schemas, withOwnKeywords);
  ajv.addSchema({ $id: 'contract', components: { schemas } }, undefined, false, false);
  checkValues(ajv, contract, operations);
  const modules = operations.map(async (operation) => {
    const schema = eventSchema(contract, operation);
    const validate = compileOrRefuse(ajv, contract, operation, [forAjv(schema), withOwnKeywords]);
    const parameters = `export const parameters = ${JSON.stringify(parameterList(contract, operation))};\n`;
    const names = `export const names = ${JSON.stringify(namesIn(contract, schema))};\n`;
    for (const parameter of operation.parameters) checkDefault(contract, ajv, parameter);
    return [operation.id, parameters + names + (await bundled(inSentences(standaloneCode.default(ajv, validate))))];
  });
  return Object.fromEntries(await Promise.all(modules));
};

/**
 * Rewrites Ajv's messages: `must be string,null` becomes `must be a string or null`. Removes schemaPath, which nothing
 * reads.
 */
const inSentences = (code: string): string =>
  code
    .replaceAll(/(?<=\{instancePath(?::[^,]*)?,)schemaPath:"[^"]*",/g, '')
    .replaceAll(/(?<=message:"must be )[a-z]+(?:,[a-z]+)*(?=")/g, (types) => types.split(',').map(named).join(' or '))
    .replaceAll('message:"must NOT', 'message:"must not');

const named = (type: string): string =>
  ({ boolean: 'true or false', null: 'null', array: 'an array', object: 'an object' })[type] ?? `a ${type}`;

const root = path.resolve(import.meta.dirname, '../..');

/** Bundles Ajv's generated code, because it loads parts of Ajv with `require`, which an ES module does not have. */
const bundled = async (code: string): Promise<string> => {
  const { outputFiles } = await build({
    stdin: { contents: code, resolveDir: root },
    // The output names each file in it. Make the name `node_modules/…` everywhere, even if node_modules is a link.
    absWorkingDir: root,
    preserveSymlinks: true,
    bundle: true,
    format: 'esm',
    platform: 'node',
    write: false,
  });
  return outputFiles.map(({ text }) => text).join('');
};
