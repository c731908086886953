import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { expect, test } from 'vitest';
import { generate } from '../generate.ts';

const contract = `openapi: 3.1.0
info: { title: Things, version: 1.0.0 }
paths:
  /things:
    put:
      operationId: putThing
      security: [{ bearerAuth: [things/put] }]
      parameters: [{ $ref: "#/components/parameters/Tag" }]
      requestBody:
        required: true
        content: { application/json: { schema: { $ref: "#/components/schemas/Thing" } } }
      responses:
        "200":
          description: done
components:
  parameters:
    Tag: { name: tag, in: query, schema: { type: string } }
  schemas:
    Thing:
      required: [size]
      type: object
      properties:
        size: { type: integer }
        name:
          type: string
`;

const types = 'array, boolean, integer, null, number, object, string';
const operation = '(#/paths/~1things/put';
const thing = '(#/components/schemas/Thing';
const ofName = `${thing}/properties/name`;
const ofTag = '(#/components/parameters/Tag';
const ajv = (problem: string): string => `Ajv refuses the schema (${problem}): correct or remove that.`;

/** What a contract has instead of a text, and the error: line and column, the problem, and the place in the contract. */
const broken: [text: string, instead: string, message: string][] = [
  // YAML
  [
    '[size]',
    '[size',
    ': Flow sequence in block collection must be sufficiently indented and end with a ] at line 21, column 7:',
  ],
  ['        name:\n', '        size:\n', ': Map keys must be unique at line 24, column 9:'],
  ['[size]', '*size', ':20:17: There is no anchor &size before it.'],
  ['[size]', '&size [*size]', ':20:24: The anchor &size contains itself.'],
  [contract, '', ': The contract must be an OpenAPI document.'],
  // The document
  ['paths:', 'path:', ':1:1: The contract needs paths. (#/paths)'],
  ['schemas:', 'schema:', ':16:3: The contract needs schemas in components. (#/components)'],
  ['  /things:\n', '  /a:\n  /things:\n', ':4:6: /a needs an operation. (#/paths/~1a)'],
  [
    '  /things:\n',
    '  /things/{id}.json:\n',
    ':5:5: The path /things/{id}.json cannot be a route of an HTTP API: write segments such as /things or /{id}, in ASCII, without %, ?, #, spaces and a / at the end. (#/paths/~1things~1{id}.json)',
  ],
  ['    put:\n', '    x: {}\n    put:\n', ':5:8: /things has x, which is not supported. (#/paths/~1things/x)'],
  ['    put:\n', '    get:\n    put:\n', ':5:9: GET /things must be an operation. (#/paths/~1things/get)'],
  // An operation
  ['putThing', 'put-thing', `:6:7: PUT /things needs an operationId such as createThing. ${operation})`],
  [
    '      responses:',
    '      callbacks: {}\n      responses:',
    `:12:18: PUT /things has callbacks, which is not supported. ${operation}/callbacks)`,
  ],
  [
    '[{ $ref: "#/components/parameters/Tag" }]',
    '{}',
    `:6:7: PUT /things is not as OpenAPI 3.1 defines it: a list or an object is missing.`,
  ],
  [
    'parameters/Tag"',
    'parameters/Tags"',
    `:8:28: A reference leads to #/components/parameters/Tags, which does not exist: name one of this document's components. ${operation}/parameters/0/$ref)`,
  ],
  ['in: query', 'in: cookie', `:17:10: PUT /things has the parameter tag in cookie, which is not supported. ${ofTag})`],
  ['name: tag', 'x: tag', `:17:10: PUT /things has a parameter without a name. ${ofTag})`],
  [
    'query, schema: { type: string }',
    'query, schema: { type: object }',
    `:17:42: The parameter tag has a type that is not supported. ${ofTag}/schema)`,
  ],
  [
    'query, schema: { type: string }',
    'query, schema: { type: strin }',
    `:17:50: type must be equal to one of the allowed values: ${types}. ${ofTag}/schema/type)`,
  ],
  [
    'query, schema: { type: string }',
    'query, schema: { type: string, x: 1 }',
    `:17:61: x is not supported. ${ofTag}/schema/x)`,
  ],
  [
    'query, schema: { type: string }',
    'query, schema: { type: string, pattern: "(" }',
    `:17:42: ${ajv('Invalid regular expression: /(/u: Unterminated group')} ${ofTag}/schema)`,
  ],
  [
    'name: tag, in: query',
    'name: Accept, in: header',
    `:17:10: PUT /things has the parameter Accept in header, which OpenAPI ignores: remove it, as security, the body and the responses say what is sent. ${ofTag})`,
  ],
  [
    'query, schema: { type: string }',
    'query, schema: { type: boolean, default: 1 }',
    `:17:42: The default of the parameter tag does not match the parameter's schema. ${ofTag}/schema)`,
  ],
  [
    'required: true',
    'required: false',
    `:10:9: PUT /things has a body that is not required, which is not supported. ${operation}/requestBody)`,
  ],
  [
    'application/json',
    'text/plain',
    `:10:9: PUT /things has a request body that is not application/json with a schema. ${operation}/requestBody)`,
  ],
  [
    's/Thing"',
    's/Thin"',
    `:11:56: A reference leads to #/components/schemas/Thin, which does not exist: name one of this document's components. ${operation}/requestBody/content/application~1json/schema/$ref)`,
  ],
  [
    '"200"',
    'default',
    `:14:11: PUT /things has the response default, which is not supported. ${operation}/responses/default)`,
  ],
  [
    '"200":\n          description: done',
    '600: {}',
    `:13:14: PUT /things has the response 600, which is not supported. ${operation}/responses/600)`,
  ],
  [
    'query, schema: { type: string }',
    'query, schema: [a]',
    `:17:10: PUT /things has the parameter tag without a schema. ${ofTag})`,
  ],
  [
    'query, schema: { type: string }',
    'query, schema: { type: array }',
    `:17:42: The parameter tag has a type that is not supported. ${ofTag}/schema)`,
  ],
  [
    '{ $ref: "#/components/schemas/Thing" }',
    '{ type: object, properties: { a: { type: array, items: { type: string }, anyOf: [{ minItems: 1 }] }, b: { minItems: 1 } } }',
    `:11:152: ${ajv('missing type "array" for keyword "minItems"')} ${operation}/requestBody/content/application~1json/schema/properties/b)`,
  ],
  // A schema
  [
    '          description: done',
    '          content: { application/json: { schema: { $id: a } } }',
    `:14:57: $id is not supported. ${operation}/responses/200/content/application~1json/schema/$id)`,
  ],
  [
    '          description: done',
    '          content: { application/json: { schema: { required: a } } }',
    `:14:62: required must be array. ${operation}/responses/200/content/application~1json/schema/required)`,
  ],
  [
    '    Thing:',
    '    Other: true\n    Thing:',
    ':19:12: The schema Other must be an object. (#/components/schemas/Other)',
  ],
  [
    '    Thing:',
    '    PutThingEvent: {}\n    Thing:',
    ':19:20: The schema PutThingEvent needs another name, which must be like NewThing. (#/components/schemas/PutThingEvent)',
  ],
  ['[size]', 'size', `:20:17: required must be array. ${thing}/required)`],
  ['[size]', '[toString]', `:20:7: A field with the name toString is not supported. ${thing})`],
  [
    'type: integer',
    'type: integer, format: uint8',
    `:23:40: The format uint8 of type integer is not supported. ${thing}/properties/size/format)`,
  ],
  [
    'type: integer',
    'type: integer, multipleOf: 2',
    `:23:44: multipleOf of a number is not supported. ${thing}/properties/size/multipleOf)`,
  ],
  [
    'type: integer',
    'type: integer, maximum: 9223372036854775806',
    `:23:41: maximum with an integer beyond 2^53 - 1 is not supported. ${thing}/properties/size/maximum)`,
  ],
  [
    'type: integer',
    'type: number, default: 1',
    `:23:40: The default of size is not supported. ${thing}/properties/size/default)`,
  ],
  [
    'type: integer',
    'anyOf: [{ type: number }]',
    `:23:25: The type number inside anyOf, oneOf, not, if, contains or the like is not supported. ${thing}/properties/size/anyOf/0)`,
  ],
  [
    'type: integer',
    '$ref: "#/components/schemas/Thing", type: object',
    `:23:59: type beside a $ref to #/components/schemas/Thing is not supported. ${thing}/properties/size/type)`,
  ],
  [
    '    Thing:',
    '    Circle: { allOf: [{ $ref: "#/components/schemas/Circle" }] }\n    Thing:',
    ':19:31: #/components/schemas/Circle refers to itself. (#/components/schemas/Circle/allOf/0/$ref)',
  ],
  [
    'type: string\n',
    'type: arr\n',
    `:25:17: type must be equal to one of the allowed values: ${types}. ${ofName}/type)`,
  ],
  [
    'type: string\n',
    'type: [string, integer]\n',
    `:25:17: The type string or integer is not supported. ${ofName}/type)`,
  ],
  ['type: string\n', 'maxLength: -1\n', `:25:22: maxLength must be >= 0. ${ofName}/maxLength)`],
  [
    'type: string\n',
    'type: array\n          minItems: 2\n          maxItems: 1\n',
    `:27:21: maxItems must be >= minItems. ${ofName}/maxItems)`,
  ],
  ['type: string\n', 'nullable: true\n', `:25:21: nullable is not supported. ${ofName}/nullable)`],
  [
    'type: string\n',
    'type: string\n          maxLenght: 5\n',
    `:26:22: maxLenght is not supported. ${ofName}/maxLenght)`,
  ],
  ['type: string\n', 'type: string\n          format: phone\n', `:25:11: ${ajv('unknown format "phone"')} ${ofName})`],
  [
    'type: string\n',
    'type: string\n          minItems: 1\n',
    `:25:11: ${ajv('missing type "array" for keyword "minItems"')} ${ofName})`,
  ],
  [
    'type: string\n',
    'type: string\n          pattern: "("\n',
    `:25:11: ${ajv('Invalid regular expression: /(/u: Unterminated group')} ${ofName})`,
  ],
];

test.each(broken)(
  'instead of %j, the contract cannot have %j: the error says where that is',
  async (text, instead, message) => {
    await using folder = await mkdtempDisposable(path.join(os.tmpdir(), 'contract-'));
    const file = path.join(folder.path, 'openapi.yaml');
    await writeFile(
      file,
      contract.replace(text, () => instead),
    );
    const error = await generate(file).then(
      () => undefined,
      (error: Error) => error.message,
    );
    expect(error?.slice(0, file.length + message.length)).toBe(file + message);
  },
);

test('nothing is wrong with that contract otherwise', async () => {
  await using folder = await mkdtempDisposable(path.join(os.tmpdir(), 'contract-'));
  const file = path.join(folder.path, 'openapi.yaml');
  await writeFile(file, contract);
  expect((await generate(file)).map(([name]) => name)).toEqual(['put-thing.js', 'put-thing.d.ts', 'contract.ts']);
});
