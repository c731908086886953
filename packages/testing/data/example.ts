/**
 * The data that tests send and expect. It is made of the contract's examples for the operation that adds an item, and
 * of the key that the service uses, so that it changes with them.
 */
import { isDeepStrictEqual } from 'node:util';
import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import { parseJson, toJson } from '@lambda-service/client';
import fc from 'fast-check';
import { anyText } from '../any-text.ts';
import { createOperation, createRoute, key, toItem } from '../under-test.ts';
import { compile, compileExact, errorNumbersOf, examplesOf, fieldsOf, operations, schemaOf } from './contract.ts';
import { keysOf, newKeys } from './keys.ts';

export type Item = Record<string, AttributeValue>;

/** The fields of a body without the key. */
export type Content = Record<string, unknown>;

type Body = Record<string, unknown>;

/** A body to send. `id` is the text of the key, whatever its type. */
export type Sample = { id: string; content: Content };

const { requestBody = {}, responses = [] } = operations.find(({ id }) => id === createOperation.id) ?? {};
const examples = examplesOf(requestBody) as [Body, ...Body[]];
const place = `schemas/openapi.yaml, the examples of ${createRoute}`;

// Without these, a wrong example would fail tests that do not name it.
const isExact = compileExact(requestBody.schema ?? {});
for (const each of examples) {
  if (isExact(each)) continue;
  const [{ instancePath = '', message = '', params = {} } = {}] = isExact.errors ?? [];
  const unknown = Object(params).unevaluatedProperty;
  const problem =
    unknown === undefined
      ? `${instancePath.slice(1) || 'the body'} ${message}`
      : `the schema does not define ${unknown}`;
  throw new Error(`${place}: in ${toJson(each)}, ${problem}.`);
}
const missing = fieldsOf(requestBody.schema ?? {}).filter((field) => !(field in Object(examples[0])));
if (missing.length > 0) throw new Error(`${place}: the first must have all fields, but lacks ${missing.join(', ')}.`);

/** The table's key: the name of its attribute, and DynamoDB's name for its type. */
export const tableKey = { name: key, type: Object.keys(toItem(examples[0] as never)[key] ?? {})[0] as 'N' | 'S' };

const isValid = compile(requestBody.schema ?? {});

/** Returns whether the contract allows the first example with these fields added or replaced. */
export const isAllowed = (fields: object): boolean => isValid({ ...examples[0], ...fields });

const keyIds = keysOf(schemaOf(requestBody.schema ?? {}, key), (id) =>
  isAllowed({ [key]: tableKey.type === 'N' ? Number(id) : id }),
);

/** Returns a new key, which an earlier run is most unlikely to have used. */
export const newId = newKeys(keyIds);

const without = (field: string, body: object): Content =>
  Object.fromEntries(Object.entries(body).filter(([name]) => name !== field));

/** The contents of the contract's examples. The examples need at least two that differ. */
export const contents = examples.map((body) => without(key, body)) as [Content, Content, ...Content[]];
if (new Set(contents.map((content) => JSON.stringify(content))).size < 2)
  throw new Error(
    `${createOperation.id} needs two examples with different content in schemas/openapi.yaml: tests send both.`,
  );
export const [content, otherContent] = contents;

/** Returns a content of the examples that differs from this one. */
export const differentFrom = (fields: Content): Content =>
  isDeepStrictEqual(fields, content) ? otherContent : content;

/** Returns the value of the key in a body: a bigint for an integer that a number would round. */
const keyValue = (id: string): bigint | number | string =>
  tableKey.type === 'N' ? (parseJson(id) as bigint | number) : id;

/** A body as the typed client takes it. */
export const newBody = <AsTyped = Body>(id = newId(), fields = content): AsTyped =>
  ({ [key]: keyValue(id), ...fields }) as AsTyped;

/** A body as JSON text. The service refuses an unescaped U+FFFD. */
export const bodyOf = (id = newId(), fields = content): string =>
  (toJson(newBody(id, fields)) ?? '').replaceAll('\ufffd', '\\ufffd');

/** The number of the error that an item gets if a different one has its key: the contract's example for 409. */
export const [conflict = 0] = errorNumbersOf(responses.filter(({ status }) => status === 409));

/** A body without the key, which the contract does not allow. */
export const invalidBody = JSON.stringify(content);

/** The fields of a body that the response repeats: those that the contract defines for both. */
const repeated = (() => {
  const [response] = responses.filter(({ status }) => status < 300);
  const isResponse = compileExact(response?.schema ?? {});
  const [first] = examplesOf(response ?? {}) as [object];
  const all = Object.entries(Object.assign({}, ...examples));
  return all.filter(([field, value]) => isResponse({ ...first, [field]: value })).map(([field]) => field);
})();

/** Returns the fields of a body that are also in the response, as the kit parses a response. */
export const responseTo = (id: string, fields = content): object => {
  const body = Object.entries(parseJson(bodyOf(id, fields)) ?? {});
  return Object.fromEntries(body.filter(([field]) => repeated.includes(field)));
};

/** Returns the item that the store must have for a body. */
export const itemOf = (id: string, fields = content): Item => attributesOf(newBody(id, fields));

// Not by the library with which the service does the same.
const attributesOf = (fields: object): Item =>
  Object.fromEntries(Object.entries(fields).map(([field, value]) => [field, attributeOf(value)]));

const attributeOf = (value: unknown): AttributeValue => {
  if (typeof value === 'string') return { S: value };
  if (typeof value === 'number' || typeof value === 'bigint') return { N: String(value) };
  if (typeof value === 'boolean') return { BOOL: value };
  if (value === null) return { NULL: true };
  return Array.isArray(value) ? { L: value.map(attributeOf) } : { M: attributesOf(value as object) };
};

/** The name of a field that no contract defines. */
export const unknownField = 'no such field';

/** Whether a body may have fields that the contract does not define. */
export const acceptsUnknownFields = isAllowed({ [unknownField]: 1 });

/** The fields of the content that may have any text. */
const textFields = Object.keys(content).filter((field) =>
  ['', 'any text\0'.repeat(3)].every((text) => isAllowed({ [field]: text })),
);

/** A text that is too large for the store in UTF-8, and the fields of the content that may have it. */
export const longText = 'é'.repeat(205_000);
export const longFields = textFields.filter((field) => isAllowed({ [field]: longText }));

/** For each field that a body may leave out, its name, and the content without it. */
export const shortened = Object.keys(content)
  .map((field): [field: string, fields: Content] => [field, without(field, content)])
  .filter(([, fields]) => isValid({ ...fields, [key]: examples[0][key] }));

/** Returns a content with this text in each field that may have any text. */
export const withText = (text: string, fields = content): Content =>
  Object.fromEntries(
    Object.entries(fields).map(([field, value]) => [field, textFields.includes(field) ? text : value]),
  );

/** The contents of the examples, and the same with empty texts. */
export const someContents = [...contents, ...contents.map((fields) => withText('', fields))];

/** Returns bodies that the contract does not allow: in each, one field is null, or a wrong value with this text. */
export const violations = (text: string, id = newId(), fields = content): string[] =>
  Object.keys(newBody(id, fields)).flatMap((field) =>
    [text, [text], { more: text }, [{ more: text }], null]
      .filter((wrong) => !isAllowed({ [field]: wrong }))
      .map((wrong) => toJson({ ...newBody<Body>(id, fields), [field]: wrong }) ?? ''),
  );

/** Random bodies: a key, and one of the contents with random texts in the fields that may have any text. */
export const samples: fc.Arbitrary<Sample> = fc.record({
  id: keyIds,
  content: fc.tuple(fc.constantFrom(...contents), anyText).map(([fields, text]) => withText(text, fields)),
});

/** Returns random bodies, each with a different key. The same seed gives the same bodies. */
export const someSamples = (count: number, seed: number): Sample[] => {
  const distinct = fc.uniqueArray(samples, { selector: ({ id }) => id, minLength: count, maxLength: count });
  return fc.sample(distinct, { seed, numRuns: 1 })[0] ?? [];
};
