/** Reads schemas/openapi.yaml for tests, and checks that responses follow this contract. */
import { readFileSync } from 'node:fs';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { type Contract, entriesOf, inlined } from 'openapi-contract/document';
import { expect } from 'vitest';
import { parse } from 'yaml';
import { createOperation, createRoute } from '../under-test.ts';

type Examples = Record<string, { value: unknown }>;
type MediaType = { schema: object; examples: Examples; example?: unknown };
type Content = { 'application/json': MediaType };
type ResponseObject = { description: string; headers?: Record<string, object>; content: Content };
type OperationObject = {
  operationId: string;
  security: Record<string, string[]>[];
  parameters?: Parameter[];
  requestBody: { required: boolean; content: Content };
  responses: Record<string, ResponseObject>;
};

type Parameter = { name: string; in: string; required?: boolean; schema: object; example?: unknown };

/** A body's schema, and its examples by name. Both are undefined for a response without a body. */
type Body = { schema?: object; examples?: Examples };

/** An operation of the contract. The `headers` of a response are those that the contract declares, in lower case. */
export type Operation = {
  id: string;
  method: string;
  path: string;
  routeKey: string;
  security: Record<string, string[]>[];
  parameters: Parameter[];
  requestBody?: Body;
  responses: ({ status: number; headers: string[] } & Body)[];
};

export const contract = parse(readFileSync('schemas/openapi.yaml', 'utf8')) as Contract;

const bodyOf = ({ schema, examples = {}, example }: MediaType): Body => ({
  schema,
  examples: example === undefined ? examples : { example: { value: example } },
});

type Paths = Record<string, Record<string, OperationObject>>;

const pathsOf = (each: Contract) => inlined(each, each.paths) as Paths;

/** The operations of the contract, with references replaced by their targets. */
export const operations: Operation[] = entriesOf(pathsOf(contract)).flatMap(([path, item]) =>
  entriesOf(item)
    .filter(([, each]) => Object(each).operationId !== undefined)
    .map(([key, { operationId: id, security, parameters = [], requestBody, responses }]) => ({
      id,
      method: key.toUpperCase(),
      path,
      routeKey: `${key.toUpperCase()} ${path}`,
      security,
      parameters: [...((item['parameters'] ?? []) as Parameter[]), ...parameters],
      ...(requestBody && { requestBody: bodyOf(requestBody.content['application/json']) }),
      responses: entriesOf(responses).map(([status, { headers = {}, content }]) => ({
        status: Number(status),
        headers: Object.keys(headers).map((name) => name.toLowerCase()),
        ...(content && bodyOf(content['application/json'])),
      })),
    })),
);

/** Returns a function that compiles a schema of a contract. The schema may refer to the contract's components. */
const compilerOf = ({ components }: Contract) => {
  const ajv = new Ajv2020({ allErrors: true, strict: false });
  addFormats.default(ajv);
  ajv.addSchema({ $id: 'openapi', components }, undefined, false, false);
  return (schema: object): ValidateFunction =>
    ajv.compile(JSON.parse(JSON.stringify(schema).replaceAll('"#/components/', '"openapi#/components/')));
};

/** Compiles a schema of schemas/openapi.yaml. */
export const compile = compilerOf(contract);

/** Compiles a schema of a body that may have no other fields. */
export const compileExact = (schema: object): ValidateFunction => compile({ ...schema, unevaluatedProperties: false });

type Schema = { allOf?: Schema[]; properties?: Record<string, Schema> };

/** Lists a schema and the parts of its `allOf`, at any depth. */
const partsOf = (schema: Schema): Schema[] => [schema, ...(schema.allOf ?? []).flatMap(partsOf)];

/** Returns what the schema of a body says about a field, joined from all of its parts. */
export const schemaOf = (body: object, field: string): object => {
  const ofField = partsOf(body).flatMap(({ properties = {} }) => partsOf(properties[field] ?? {}));
  return Object.assign({}, ...ofField);
};

/** Returns the names of the fields that a schema defines, besides those of alternatives. */
export const fieldsOf = (body: object): string[] =>
  partsOf(body).flatMap(({ properties = {} }) => Object.keys(properties));

/** Returns the values of all examples that the contract has for a body. */
export const examplesOf = ({ examples = {} }: Body): unknown[] => Object.values(examples).map(({ value }) => value);

/** Returns the error numbers in the examples of responses. A success has none: there, `error` is a field like any other. */
export const errorNumbersOf = (responses: Operation['responses']): number[] =>
  responses
    .filter(({ status }) => status >= 400)
    .flatMap((response) => examplesOf(response).flatMap((value) => Object(value).error ?? []));

/**
 * Returns a function that tells whether an earlier contract has the operation that adds an item, takes a body, and
 * defines all its fields.
 */
export const takenBy = (earlier: Contract): ((body: unknown) => boolean) => {
  const { method, path } = createOperation;
  const body = pathsOf(earlier)[path]?.[method.toLowerCase()]?.requestBody.content['application/json'].schema;
  return body === undefined ? () => false : compilerOf(earlier)({ ...body, unevaluatedProperties: false });
};

/**
 * For each documented response, by route and status: a check of the body (if the response has one), and the values of
 * `error` in its examples.
 */
const documented = new Map(
  operations.flatMap(({ routeKey, responses }) =>
    responses.map((response) => [
      `${routeKey} ${response.status}`,
      {
        // The contract allows unknown fields in a response, but the service must not send any.
        validate: response.schema && compileExact(response.schema),
        errors: errorNumbersOf([response]),
      },
    ]),
  ),
);

/**
 * Fails if the contract does not allow this response to a request for the route: the status is not documented, the body
 * does not match the schema exactly, or the error number of an error is in no example for the status.
 */
export const expectInContract = (
  status: number,
  contentType: string | null | undefined,
  body: string,
  routeKey: string = createRoute,
): void => {
  const { validate, errors } = documented.get(`${routeKey} ${status}`) ?? {};
  expect(errors, `schemas/openapi.yaml lacks the status ${status} of ${routeKey}`).toBeDefined();
  if (validate === undefined) {
    expect(body, `body of ${routeKey} with ${status}`).toBe('');
    return;
  }
  expect(contentType, 'content type').toBe('application/json');
  const value = JSON.parse(body);
  expect(validate(value), `by schemas/openapi.yaml: ${body}: ${JSON.stringify(validate.errors)}`).toBe(true);
  // In a response without an error, `error` is a field like any other.
  if (status >= 400 && value?.error !== undefined)
    expect(errors, `schemas/openapi.yaml has examples of these errors for ${routeKey} with ${status}`).toContain(
      value.error,
    );
};
