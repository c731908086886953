import { readFileSync } from 'node:fs';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { expect } from 'vitest';
import { parse } from 'yaml';

type MediaType = { schema: { $ref?: string }; examples: Record<string, { value: unknown }> };
type Answer = {
  description: string;
  headers?: Record<string, unknown>;
  content: { 'application/json': MediaType };
};
type Operation = {
  operationId: string;
  security?: unknown;
  requestBody: { required: boolean; content: { 'application/json': MediaType } };
  responses: Record<string, Answer>;
};

export type Contract = {
  openapi: string;
  info: { version: string };
  security: unknown;
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, object>; securitySchemes: Record<string, object> };
};

/** schemas/openapi.yaml, as it stands. */
export const contract = parse(readFileSync(new URL('../../schemas/openapi.yaml', import.meta.url), 'utf8')) as Contract;

export const createPlantOperation = contract.paths['/plants']?.['post'] as Operation;

const ajv = new Ajv2020({
  allErrors: true,
  strictTypes: false,
  formats: { int32: true, int64: true },
  keywords: ['components'],
});
ajv.addSchema({ $id: 'openapi', components: contract.components }, undefined, false, false);

/** A validator of a schema of the document. */
export const compile = (schema: object): ValidateFunction =>
  ajv.compile(JSON.parse(JSON.stringify(schema).replaceAll('"#/components/', '"openapi#/components/')));

const validators = new Map(
  Object.entries(createPlantOperation.responses).map(([status, { content }]) => [
    Number(status),
    // The contract allows more fields; the service gives none.
    compile({ ...content['application/json'].schema, unevaluatedProperties: false }),
  ]),
);

/** Status and `error` of every example. */
const documentedErrors = Object.entries(createPlantOperation.responses).flatMap(([status, { content }]) =>
  Object.values(content['application/json'].examples).flatMap(({ value }) =>
    value instanceof Object && 'error' in value ? [[Number(status), value.error]] : [],
  ),
);

/**
 * Fails where POST /plants may not answer so: a status that is not in the document, a body that is not exactly of its
 * schema, or an `error` that no example of this status shows.
 */
export const expectInContract = (status: number, contentType: string | null | undefined, body: string): void => {
  const validate = validators.get(status);
  expect(validate, `status ${status} is in schemas/openapi.yaml`).toBeDefined();
  expect(contentType, 'content type').toBe('application/json');
  const value = JSON.parse(body);
  expect(validate?.(value), `${body}: ${JSON.stringify(validate?.errors)}`).toBe(true);
  if (value.error !== undefined) expect(documentedErrors).toContainEqual([status, value.error]);
};
