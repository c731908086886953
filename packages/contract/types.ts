/**
 * Generates TypeScript from the contract: types of its schemas and operations, and data for the client and the stack.
 */
import { compile } from 'json-schema-to-typescript';
import { type Contract, Refusal, resolve, type Schema } from './document.ts';
import { type Operation, parametersByPlace } from './operations.ts';
import { isAnnotation, mapSchema, mapSchemas } from './schemas.ts';

/** The name of an operation's files, such as `create-order` for createOrder. */
export const fileOf = (id: string): string => id.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

export const capitalize = (name: string): string => name.charAt(0).toUpperCase() + name.slice(1);

/**
 * The type name of a schema: the schema's name, with Body appended if that name would hide a global type, such as
 * Error.
 */
const typeName = (name: string): string => (name in globalThis ? `${name}Body` : name);

/**
 * The keywords that types are generated from. json-schema-to-typescript would take what is inside other keywords, such
 * as `then` or `example`, for schemas. It would name a type after a `title`.
 */
const typeKeywords = [
  ...['description', 'deprecated', 'type', 'enum', 'properties', 'required', 'additionalProperties'],
  ...['patternProperties', 'items', 'minItems', 'maxItems', 'allOf', 'anyOf', 'oneOf'],
];

/** Returns a function that prepares a schema for json-schema-to-typescript. An int64 gets the type `int64`. */
const forTypes =
  (int64: string) =>
  (schema: Schema): Schema => {
    const { $ref, type, format, const: only, prefixItems } = schema;
    const isInt64 = format === 'int64' && [type].flat().includes('integer');
    return {
      ...Object.fromEntries(Object.entries(schema).filter(([keyword]) => typeKeywords.includes(keyword))),
      // Wrap a reference, because a description beside it would lead to a second type with another name.
      ...(typeof $ref === 'string' && { allOf: [{ $ref: $ref.replace('#/components/schemas/', '#/$defs/') }] }),
      ...(only !== undefined && { enum: [only] }),
      ...(prefixItems !== undefined && { items: prefixItems }),
      ...(isInt64 && { tsType: `(${int64}${[type].flat().includes('null') ? ' | null' : ''})` }),
    };
  };

/** Refuses schema names that would lead to two exports with the same name, or hide a type that the output uses. */
const checkNames = (named: Contract['components']['schemas'], interfaces: string[]): void => {
  const schemas = Object.keys(named);
  const taken = [...interfaces, 'Schemas', 'Operations', 'OperationId', 'Readonly', 'Record'];
  const types = schemas.map(typeName);
  const wrong = schemas.find(
    (name, index) => !/^[A-Z]\w*$/.test(name) || taken.includes(name) || types.indexOf(typeName(name)) !== index,
  );
  if (wrong !== undefined)
    throw new Refusal(`The schema ${wrong} needs another name, which must be like NewThing.`, named, wrong);
};

export const compileTypes = async (contract: Contract, operations: Operation[]): Promise<string> => {
  const schemas = mapSchemas(contract.components.schemas, forTypes('number | bigint'));
  const bodies = Object.fromEntries(
    Object.entries(schemas).map(([name, schema]) => {
      // Without rules, the type would be that of an object.
      const isAnything = Object.keys(schema).every(isAnnotation);
      return [name, { ...schema, ...(isAnything && { tsType: 'unknown' }), title: typeName(name) }];
    }),
  );
  const interfaces = Object.assign({}, ...operations.map((operation) => interfacesOf(contract, operation)));
  checkNames(contract.components.schemas, Object.keys(interfaces));
  const named = { ...Object.fromEntries(Object.keys(bodies).map((name) => [name, ref(name)])), ...interfaces };
  const types = await compile({ ...object(named), $defs: bodies }, 'Schemas', {
    additionalProperties: false,
    bannerComment: '',
    // Otherwise, a list of limited length would be a tuple, to which a program could not pass an array.
    ignoreMinAndMaxItems: true,
    format: false,
  });
  return `${types}\n${operationTypes(operations)}\n${operationConstants(contract, operations)}`;
};

const ref = (name: string): Schema => ({ $ref: `#/$defs/${name}` });

const object = (properties: Record<string, unknown>, required = Object.keys(properties)): Schema => ({
  type: 'object',
  required,
  properties,
  additionalProperties: false,
});

/**
 * Returns a schema for each TypeScript type that is generated for an operation. In the schema of the operation's
 * events, each int64 parameter is a bigint.
 */
const interfacesOf = (contract: Contract, { id, parameters, body, responses }: Operation): Record<string, Schema> => {
  const name = capitalize(id);
  const places = parametersByPlace(contract, parameters).map(({ property, here, required }) => {
    const schemas = Object.fromEntries(here.map((each) => [each.name, ownSchema(contract, each.schema)]));
    return [property, mapSchema(object(schemas, required), forTypes('bigint'))];
  });
  const asJson = (schema: Schema): Schema => mapSchema(schema, forTypes('number | bigint'));
  const sentBody = body && { body: asJson(body) };
  const sent = Object.fromEntries(parameters.map((each) => [each.name, ownSchema(contract, each.schema)]));
  const required = parameters.filter((each) => each.required).map((each) => each.name);
  const received = responses
    .filter(({ status }) => status < 300)
    .map(({ status, schema }) => [String(status), schema ? asJson(schema) : { tsType: 'undefined' }]);
  const interfaces = {
    [`${name}Event`]: object({ ...Object.fromEntries(places), ...sentBody }),
    [`${name}Parameters`]: asJson(object(sent, required)),
    ...(sentBody && { [`${name}Request`]: object(sentBody) }),
    [`${name}Responses`]: object(Object.fromEntries(received)),
  };
  return Object.fromEntries(Object.entries(interfaces).map(([title, schema]) => [title, { title, ...schema }]));
};

/**
 * Replaces the references in a parameter's schema by their targets. A parameter cannot share a type with a body that
 * refers to the same schema, because an int64 has a different type in each.
 */
const ownSchema = (contract: Contract, schema: Schema): Schema => {
  const { items, title, ...others } = resolve(contract, schema);
  return items instanceof Object ? { ...others, items: ownSchema(contract, items as Schema) } : others;
};

/**
 * Returns the source code of `Operations`, which says what a client sends to each operation, and what the client gets.
 */
const operationTypes = (operations: Operation[]): string => {
  const lines = operations.map(({ id, method, path, summary = id, body, responses }) => {
    const name = capitalize(id);
    const codes = errorCodesOf(responses).join(' | ') || 'never';
    // Use `Schemas`, because json-schema-to-typescript changes some names: Put2thingsEvent becomes Put2ThingsEvent.
    const of = (kind: string) => `Schemas['${name}${kind}']`;
    const request = `parameters: ${of('Parameters')}; body: ${body ? `${of('Request')}['body']` : 'undefined'}`;
    const comment = `${summary}: \`${method} ${path}\``.replaceAll('*/', '*\\/');
    return `  /** ${comment} */\n  ${id}: { ${request}; response: ${of('Responses')}[keyof ${of('Responses')}]; errorCode: ${codes} };`;
  });
  return `/** For each operation: its parameters, its body, the body of its 2xx responses, and its error numbers. */
export interface Operations {\n${lines.join('\n')}\n}\n\nexport type OperationId = keyof Operations;\n`;
};

const errorCodesOf = (responses: Operation['responses']): number[] => [
  ...new Set(responses.flatMap(({ errorCodes }) => errorCodes)),
];

/** Returns the source code of the constants that the stack, the authorizer and the client read. */
const operationConstants = (contract: Contract, operations: Operation[]): string => {
  const routes = operations.map(({ method, path, scopes }) => [`${method} ${path}`, scopes]);
  const constants = operations.map(({ id, method, path, scopes, parameters, body, responses }) => [
    id,
    {
      file: fileOf(id),
      method,
      path,
      scopes,
      parameters: parameters.map(({ name, in: place, schema, required }) => ({
        name,
        in: place,
        type: typeOf(contract, schema),
        required,
      })),
      ...(body && { body: bodyFields(contract, body), requires: flattened(contract, body).required }),
      responses: responses
        .filter(({ status }) => status < 300)
        .map(({ status, schema }) => ({ status, ...(schema && fieldsOf(contract, schema, body)) })),
      errorCodes: errorCodesOf(responses),
    },
  ]);
  const headers = operations.flatMap(({ responses }) =>
    responses.flatMap((each) => each.headers.map(({ name }) => name)),
  );
  return `/** The scopes that a token needs for each route. */
export const scopes: Readonly<Record<string, readonly string[]>> = ${JSON.stringify(Object.fromEntries(routes), null, 2)};

/** The headers that the contract's responses have, in lower case. */
export const responseHeaders: readonly string[] = ${JSON.stringify([...new Set(headers)])};

export const operations = ${JSON.stringify(Object.fromEntries(constants), null, 2)} as const;
`;
};

/**
 * Describes a valid response body: its JSON types and its required fields. If the request body has the schema of the
 * response body, alone or in an `allOf`, also lists the fields whose values must equal those of the request.
 */
const fieldsOf = (contract: Contract, schema: Schema, body: Schema | undefined) => {
  const { required, properties } = flattened(contract, schema);
  const includes = (whole: Schema, part: Schema): boolean =>
    whole['$ref'] === part['$ref'] || branches(resolve(contract, whole)).some((branch) => includes(branch, part));
  const isEcho = body !== undefined && schema['$ref'] !== undefined && includes(body, schema);
  const { type } = resolve(contract, schema);
  const writable = Object.keys(properties).filter(
    (name) => resolve(contract, properties[name] ?? {})['readOnly'] !== true,
  );
  return { ...(type !== undefined && { types: [type].flat() }), requires: required, repeats: isEcho ? writable : [] };
};

/**
 * The fields of a request body and their types. Empty if the schema also allows fields that it does not list, because
 * then the list would not be complete.
 */
const bodyFields = (contract: Contract, body: Schema): Record<string, string> => {
  const { properties, isOpen } = flattened(contract, body);
  const types = Object.entries(properties).map(([name, schema]) => [name, typeOf(contract, schema)]);
  return isOpen ? {} : Object.fromEntries(types);
};

/**
 * Names a schema's type, such as `string`, `int64` (an integer of that format), `string or null`, or `int64[]` for a
 * list of int64s.
 */
const typeOf = (contract: Contract, schema: Schema): string => {
  const { type = 'any', format, items } = resolve(contract, schema);
  if (items instanceof Object) return `${typeOf(contract, items as Schema)}[]`;
  const types = [type].flat().join(' or ');
  return format === 'int64' ? types.replace('integer', format) : types;
};

const branches = (schema: Schema): Schema[] => (schema['allOf'] ?? []) as Schema[];

/** Keywords that may allow an object to have fields that its `properties` do not list. */
const openKeywords = [
  ...['additionalProperties', 'unevaluatedProperties', 'patternProperties'],
  ...['anyOf', 'oneOf', 'then', 'else', 'dependentSchemas'],
];

type Fields = { required: string[]; properties: Record<string, Schema>; isOpen: boolean };

/** The fields of an object, including those that its `allOf` adds. */
const flattened = (contract: Contract, schema: Schema): Fields => {
  const resolved = resolve(contract, schema);
  const parts = branches(resolved).map((branch) => flattened(contract, branch));
  return {
    required: [...((resolved['required'] ?? []) as string[]), ...parts.flatMap(({ required }) => required)],
    properties: Object.assign({}, resolved['properties'], ...parts.map(({ properties }) => properties)),
    isOpen: openKeywords.some((keyword) => resolved[keyword] ?? false) || parts.some(({ isOpen }) => isOpen),
  };
};
