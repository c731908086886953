import { readFileSync } from 'node:fs';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { expect } from 'vitest';
import { parse } from 'yaml';

type MediaType = { schema: { $ref?: string }; examples: Record<string, { value: unknown }> };
type ResponseSpec = {
  description: string;
  headers?: Record<string, unknown>;
  content: { 'application/json': MediaType };
};
type Operation = {
  operationId: string;
  security?: unknown;
  requestBody: { required: boolean; content: { 'application/json': MediaType } };
  responses: Record<string, ResponseSpec>;
};

export type Contract = {
  openapi: string;
  info: { version: string };
  security: unknown;
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, object>; securitySchemes: Record<string, object> };
};

/** The parsed schemas/openapi.yaml. */
export const contract = parse(readFileSync(new URL('../../schemas/openapi.yaml', import.meta.url), 'utf8')) as Contract;

export const createPlantOperation = contract.paths['/plants']?.['post'] as Operation;

const ajv = new Ajv2020({
  allErrors: true,
  strictTypes: false,
  formats: { int32: true, int64: true },
  keywords: ['components'],
});
ajv.addSchema({ $id: 'openapi', components: contract.components }, undefined, false, false);

/** Compiles a schema of schemas/openapi.yaml, which may refer to the document's components. */
export const compile = (schema: object): ValidateFunction =>
  ajv.compile(JSON.parse(JSON.stringify(schema).replaceAll('"#/components/', '"openapi#/components/')));

const validators = new Map(
  Object.entries(createPlantOperation.responses).map(([status, { content }]) => [
    Number(status),
    // The contract allows unknown fields in a response, but the service must not send any.
    compile({ ...content['application/json'].schema, unevaluatedProperties: false }),
  ]),
);

/** The status and `error` of every example in the contract. */
const documentedErrors = Object.entries(createPlantOperation.responses).flatMap(([status, { content }]) =>
  Object.values(content['application/json'].examples).flatMap(({ value }) =>
    value instanceof Object && 'error' in value ? [[Number(status), value.error]] : [],
  ),
);

/**
 * Fails if the contract does not allow this response of POST /plants: the status is not documented, the body does not
 * match the schema exactly, or no example of the status has its `error`.
 */
export const expectInContract = (status: number, contentType: string | null | undefined, body: string): void => {
  const validate = validators.get(status);
  expect(validate, `status ${status} is in schemas/openapi.yaml`).toBeDefined();
  expect(contentType, 'content type').toBe('application/json');
  const value = JSON.parse(body);
  expect(validate?.(value), `${body}: ${JSON.stringify(validate?.errors)}`).toBe(true);
  if (value.error !== undefined) expect(documentedErrors).toContainEqual([status, value.error]);
};
