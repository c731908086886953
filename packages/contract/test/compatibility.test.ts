import { expect, test } from 'vitest';
import { breaksOf } from '../compatibility.ts';
import type { Contract, Schema } from '../document.ts';
import { isSchema } from '../schemas.ts';
import { head } from './kit/compiled-contract.ts';

const text = { type: 'string' };
const int64 = { type: 'integer', format: 'int64' };
const ref = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` });

/** What makes up the released contract. Each test case changes some of it to make the new contract. */
const released: Schema = {
  id: 'putThing',
  path: '/things/{id}',
  scopes: ['things/put', 'things/write'],
  parameters: {
    id: { in: 'path', required: true, schema: int64 },
    unit: { in: 'query', required: false, schema: { type: 'string', enum: ['cm', 'in'], default: 'cm' } },
  },
  body: { type: 'object', required: ['name'] },
  fields: {
    name: { type: 'string', maxLength: 10 },
    size: { type: 'integer', minimum: 1, maximum: 9 },
    color: { enum: ['red', 'green'] },
    owner: { type: 'object', required: ['id'], properties: { id: { type: 'integer' }, since: text } },
    parts: { type: 'array', maxItems: 3, items: ref('Part') },
  },
  part: { type: 'object', properties: { code: text, parts: { type: 'array', items: ref('Part') } } },
  answer: { type: 'object', required: ['name'] },
  results: { name: text, color: { enum: ['red', 'green'] }, count: { type: 'integer' } },
  problem: { type: 'object', required: ['error'], properties: { error: int64, message: text } },
  responses: { 200: 'Answer', 404: 'Problem', 409: 'Problem' },
  numbers: [40401, 40402],
  headers: {
    'Retry-After': { required: true, schema: { type: 'integer' } },
    'X-Note': { required: false, schema: text },
  },
  scheme: { type: 'http', scheme: 'bearer', description: 'a token' },
};

/** Changes an object at any depth. A value of undefined removes the field. */
const merge = (whole: unknown, change: unknown): unknown => {
  if (!isSchema(whole) || !isSchema(change)) return change;
  const merged = Object.entries(change).map(([name, value]) => [name, merge(whole[name], value)]);
  return Object.fromEntries(
    Object.entries({ ...whole, ...Object.fromEntries(merged) }).filter(([, value]) => value !== undefined),
  );
};

const contractOf = (change: Schema): Contract => {
  const parts = merge(released, change) as Record<string, Schema>;
  const { id, path, scopes, parameters = {}, body, fields, answer, results, headers, responses = {}, numbers } = parts;
  const examples = (numbers as unknown as number[]).map((error) => [error, { value: { error } }]);
  const operation = {
    operationId: id,
    security: [{ bearerAuth: scopes }],
    parameters: Object.entries(parameters).map(([name, parameter]) => ({ name, ...(parameter as Schema) })),
    ...(body && { requestBody: { required: true, content: { 'application/json': { schema: ref('Thing') } } } }),
    responses: Object.fromEntries(
      Object.entries(responses).map(([status, names]) => {
        const alternatives = String(names).split(' or ').map(ref);
        const schema = alternatives.length > 1 ? { anyOf: alternatives } : alternatives[0];
        const own = Number(status) >= 400 && { examples: Object.fromEntries(examples) };
        return [status, { headers, ...(names ? { content: { 'application/json': { schema, ...own } } } : {}) }];
      }),
    ),
  };
  const schemas = {
    Thing: { ...body, ...(fields && { properties: fields }) },
    Part: parts['part'] ?? {},
    Answer: { ...answer, properties: results },
    Problem: parts['problem'] ?? {},
    GatewayError: { type: 'object', required: ['message'], properties: { message: text } },
  };
  return {
    ...head,
    paths: { [String(path)]: { put: operation } },
    components: { schemas, securitySchemes: { bearerAuth: parts['scheme'] ?? {} } },
  };
};

const breaksOfChange = (change: Schema): string[] => breaksOf(contractOf({}), contractOf(change));

const refuses = 'may refuse a body that it accepted:';
const answers = 'may answer 200 with what the release rules out:';

test.each<[says: string, change: Schema]>([
  ['/things/{id} is gone', { path: '/v2/things/{id}' }],
  ['is called setThing instead of putThing', { id: 'setThing' }],
  ['requires the scope things/own', { scopes: ['things/put', 'things/own'] }],
  ['requires the query parameter q', { parameters: { q: { in: 'query', required: true, schema: text } } }],
  ['has lost the query parameter unit', { parameters: { unit: { in: 'header' } } }],
  ['requires the query parameter unit, which was optional', { parameters: { unit: { required: true } } }],
  ['unit that it accepted: the value: enum ["cm"]', { parameters: { unit: { schema: { enum: ['cm'] } } } }],
  ['has another default for the query parameter unit', { parameters: { unit: { schema: { default: 'in' } } } }],
  ['has lost its body', { body: undefined }],
  ['has lost the field owner.since of its body', { fields: { owner: { properties: { since: undefined } } } }],
  [`${refuses} size: required`, { body: { required: ['name', 'size'] } }],
  [`${refuses} note: required`, { body: { allOf: [{ required: ['note'], properties: { note: text } }] } }],
  [`${refuses} the body: additionalProperties false`, { body: { additionalProperties: false } }],
  [`${refuses} the body: not {"required":["x"]}`, { body: { not: { required: ['x'] } } }],
  [`${refuses} name: maxLength 9`, { fields: { name: { maxLength: 9 } } }],
  [`${refuses} size: minimum 2, maximum 9`, { fields: { size: { minimum: 2 } } }],
  [`${refuses} size: minimum 1, exclusiveMaximum 9`, { fields: { size: { maximum: undefined, exclusiveMaximum: 9 } } }],
  [`${refuses} id: format int32`, { fields: { owner: { properties: { id: { format: 'int32' } } } } }],
  [`${refuses} color: enum ["red"]`, { fields: { color: { enum: ['red'] } } }],
  [`${refuses} code: maxLength 1`, { part: { properties: { code: { maxLength: 1 } } } }],
  ['has lost a body in its response 200', { responses: { 200: '' } }],
  ['no longer answers 409', { responses: { 409: undefined } }],
  ['may answer 202, which released clients do not expect', { responses: { 202: 'Answer' } }],
  ['no longer documents the error 40402', { numbers: [40401] }],
  ['has lost the header retry-after of its response 200', { headers: { 'Retry-After': undefined } }],
  ['retry-after of its response 200 that is new:', { headers: { 'Retry-After': { schema: { type: 'string' } } } }],
  ['may leave out the header retry-after of its response 200', { headers: { 'Retry-After': { required: false } } }],
  ['The security scheme bearerAuth is another one', { scheme: { type: 'apiKey', in: 'header', name: 'x-api-key' } }],
  ['has lost the field count of its response 200', { results: { count: undefined } }],
  [`${answers} name: required`, { answer: { required: [] } }],
  [`${answers} name: type "string"`, { results: { name: { type: ['string', 'null'] } } }],
  [`${answers} count: no format`, { results: { count: { format: 'int64' } } }],
  [`${answers} the body: type "object"`, { responses: { 200: 'Answer or GatewayError' } }],
  ['may answer 404 with what the release rules out:', { responses: { 404: 'Problem or Answer or GatewayError' } }],
])('a new contract breaks released clients if it %s', (says, change) => {
  expect(breaksOfChange(change).join('\n')).toContain(says);
});

test.each<[what: string, change: Schema]>([
  ['nothing changes', {}],
  ['a scope is no longer required', { scopes: ['things/put'] }],
  ['a parameter is new and optional', { parameters: { q: { in: 'query', required: false, schema: text } } }],
  ['a field of the body is new and optional', { fields: { weight: int64 } }],
  ['a string may have any length', { fields: { name: { maxLength: undefined, minLength: 0 } } }],
  ['a number may be smaller and larger', { fields: { size: { minimum: 0, maximum: 10 } } }],
  ['a number gets a wider format', { fields: { owner: { properties: { id: { format: 'int64' } } } } }],
  ['an integer becomes any number', { fields: { size: { type: 'number' } } }],
  ['a choice is new', { fields: { color: { enum: ['blue', 'red', 'green'] } } }],
  ['a field may also be null', { fields: { name: { type: ['string', 'null'] } } }],
  ['a field may also be something else', { fields: { name: { type: undefined, anyOf: [{ type: 'integer' }, text] } } }],
  ['a part of a schema moves into `allOf`', { body: { required: undefined, allOf: [{ required: ['name'] }] } }],
  ['words change', { body: { description: 'a thing', title: 'Thing' }, scheme: { description: 'a JWT' } }],
  ['tokens get another format', { scheme: { bearerFormat: 'JWT' } }],
  ['a status of an error is new', { responses: { 410: 'Problem' } }],
  ['other notes change', { body: { 'x-a': 1, xml: {}, externalDocs: {}, discriminator: {}, $comment: 'a' } }],
  ['an error number is new', { numbers: [40401, 40402, 40403] }],
  ["an error may also be the gateway's", { responses: { 404: 'Problem or GatewayError' } }],
  ['a field of a response is new', { results: { weight: int64 } }],
  ['a field of a response has fewer choices', { results: { color: { enum: ['red'] } } }],
])('a new contract does not break released clients if %s', (_, change) => {
  expect(breaksOfChange(change)).toEqual([]);
});

test('a new contract does not break released clients if words beside a reference change', () => {
  const saying = (description: string) => contractOf({ body: { not: { ...ref('Part'), description } } });
  expect(breaksOf(saying('a part'), saying('a spare part'))).toEqual([]);
});

test('a new operation breaks no released clients, but a body that it did not have does', () => {
  const parameters = [{ name: 'id', in: 'path', required: true, schema: int64 }];
  const security = [{ bearerAuth: ['things/read'] }];
  const get = { operationId: 'getThing', security, parameters, responses: { 200: {} } };
  const today = contractOf({});
  const paths = { '/things/{id}': { get, ...today.paths['/things/{id}'] } };
  expect(breaksOf(today, { ...today, paths })).toEqual([]);
  expect(breaksOf(contractOf({ body: undefined }), today)).toEqual([
    'PUT /things/{id} requires a body, which it did not have.',
  ]);
});
