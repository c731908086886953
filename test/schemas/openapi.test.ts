import { readFileSync } from 'node:fs';
import { Validator } from '@seriousme/openapi-schema-validator';
import { describe, expect, test } from 'vitest';
import { responses as gatewayResponses } from '../../emulator/gateway/response.ts';
import type { Translation } from '../../functions/http/error-response.ts';
import { type CatalogueEntry, errors } from '../../functions/http/errors.ts';
import packageJson from '../../package.json' with { type: 'json' };
import { compile, contract, createPlantOperation, examplesOf, type Operation, operations } from '../kit/contract.ts';

describe('schemas/openapi.yaml', () => {
  test('is a valid OpenAPI 3.1.0 document with the version in package.json', async () => {
    const text = readFileSync(new URL('../../schemas/openapi.yaml', import.meta.url), 'utf8');
    const validator = new Validator();
    const result = await validator.validate(text);
    expect(result).toEqual({ valid: true });
    expect({ schema: validator.version, openapi: contract.openapi, contract: contract.info.version }).toEqual({
      schema: '3.1',
      openapi: '3.1.0',
      contract: packageJson.version,
    });
  });

  test('requires a bearer token for every operation', () => {
    expect(contract.security).toEqual([{ bearerAuth: [] }]);
    expect(contract.components.securitySchemes['bearerAuth']).toMatchObject({ type: 'http', scheme: 'bearer' });
  });

  test('defines createPlant as POST /plants, which requires the scope plants/create', () => {
    expect(createPlantOperation).toMatchObject({
      operationId: 'createPlant',
      security: [{ bearerAuth: ['plants/create'] }],
    });
  });

  test('says that createPlant requires a NewPlant as its body, and returns a Plant or an Error', () => {
    const { requestBody, responses } = createPlantOperation;
    const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });
    expect(requestBody).toMatchObject({ required: true });
    expect(requestBody.content['application/json'].schema).toEqual(ref('NewPlant'));
    expect(responses['200']).toMatchObject({ description: 'plant response' });
    expect(responses['200']?.content['application/json'].schema).toEqual(ref('Plant'));
    expect(responses['400']).toMatchObject({ description: 'unexpected error' });
    // The gateway sends a 400, too, if the request is not valid HTTP.
    expect(responses['400']?.content['application/json'].schema).toEqual({
      anyOf: [ref('Error'), ref('GatewayError')],
    });
  });

  test.each([
    ['NewPlant', { id: 1, name: 'Moss' }, true],
    ['NewPlant', { id: 1, name: 'Moss', tag: '' }, true],
    ['NewPlant', { id: 1, name: 'Moss', height: 3 }, true],
    ['NewPlant', { name: 'Moss' }, false],
    ['NewPlant', { id: 1 }, false],
    ['NewPlant', { id: '1', name: 'Moss' }, false],
    ['NewPlant', { id: 1.5, name: 'Moss' }, false],
    ['NewPlant', { id: 1, name: 1 }, false],
    ['NewPlant', { id: 1, name: 'Moss', tag: null }, false],
    ['Plant', { name: 'Moss' }, true],
    ['Plant', { tag: 'green' }, false],
    ['Error', { error: 40001, message: '' }, true],
    ['Error', { error: 40001 }, false],
    ['Error', { message: '' }, false],
    ['Error', { error: '40001', message: '' }, false],
  ])('has a schema %s that, for %j, gives the verdict %s', (name, value, valid) => {
    const validate = compile({ $ref: `#/components/schemas/${name}` });
    expect(validate(value), `${JSON.stringify(value)} is a ${name}`).toBe(valid);
  });
});

/**
 * Returns the examples of our errors (those with the fields `error` and `message`) in an operation's responses, each
 * with the status of its response.
 */
const documentedErrors = ({ responses }: Operation): CatalogueEntry[] =>
  responses.flatMap(({ status, ...body }) =>
    examplesOf(body).flatMap((value) => {
      const isError = value instanceof Object && 'error' in value && 'message' in value;
      return isError ? { status, error: Number(value.error), message: String(value.message) } : [];
    }),
  );

const { notJson, notValid, tooLarge, notJsonType, encoded, ...ofAll } = errors;

/**
 * Returns the errors that an operation can send: errors common to all operations, errors for a bad body or bad
 * parameters (if the operation has a body or parameters), and errors that its file exports.
 */
const catalogueOf = async ({ id, parameters, requestBody }: Operation): Promise<CatalogueEntry[]> => {
  const file = id.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  const { errors: own }: { errors: Translation[] } = await import(`../../functions/${file}.ts`);
  return [
    ...Object.values(ofAll),
    ...(requestBody ? [notJson, notValid, tooLarge, notJsonType, encoded] : []),
    ...(parameters.length > 0 && !requestBody ? [notValid] : []),
    ...own.map(([, entry]) => entry),
  ];
};

describe.each(operations)('$routeKey in schemas/openapi.yaml', (operation) => {
  const { parameters, requestBody, responses } = operation;

  test('requires at least one scope', () => {
    expect(operation.security).toEqual([{ bearerAuth: expect.arrayContaining([expect.stringMatching(/^\S+$/)]) }]);
  });

  test('has at least one example of each parameter and each body, and every example matches its schema', () => {
    const bodies = [...(requestBody ? [requestBody] : []), ...responses].filter(({ schema }) => schema !== undefined);
    const all = [
      ...parameters.map(({ schema, example }) => ({ schema, examples: [example] })),
      ...bodies.map((body) => ({ schema: body.schema ?? {}, examples: examplesOf(body) })),
    ];
    expect(all.filter(({ examples }) => examples.length === 0)).toEqual([]);
    const faults = all.flatMap(({ schema, examples }) => {
      const validate = compile(schema);
      return examples.filter((example) => !validate(example));
    });
    expect(faults).toEqual([]);
  });

  test('has an example of every error that the operation can send, with the right status and message, and of no other error', async () => {
    const catalogue = (await catalogueOf(operation)).map(({ status, error, message }) => ({
      status,
      error,
      message: error === notValid.error ? expect.any(String) : message,
    }));
    const documented = documentedErrors(operation);
    expect(documented).toEqual(expect.arrayContaining(catalogue));
    for (const error of documented) expect(catalogue).toContainEqual(error);
  });

  test("has an example of each of the gateway's error responses that this operation's callers can get", () => {
    const { noContent, notFound, bodyTooLarge, ...others } = gatewayResponses;
    const ofGateway = [...Object.values(others), ...(requestBody ? [bodyTooLarge] : [])];
    const documented = responses.flatMap(({ status, ...body }) => examplesOf(body).map((value) => ({ status, value })));
    expect(documented).toEqual(
      expect.arrayContaining(ofGateway.map(({ status, body }) => ({ status, value: JSON.parse(String(body)) }))),
    );
  });

  test('declares the request id header for each response, including responses of the gateway', () => {
    const without = responses.filter(({ headers }) => !headers.includes('apigw-requestid'));
    expect(without.map(({ status }) => status)).toEqual([]);
  });

  test('declares for each error status exactly the headers that errors with this status have, apart from the request id', async () => {
    const sent = (await catalogueOf(operation)).flatMap(({ status, headers = {} }) =>
      Object.keys(headers).map((name) => `${status} ${name}`),
    );
    const documented = responses
      .filter(({ status }) => status >= 400)
      .flatMap(({ status, headers }) => headers.map((name) => `${status} ${name}`))
      .filter((each) => !each.endsWith(' apigw-requestid'));
    expect(documented.sort()).toEqual([...new Set(sent)].sort());
  });
});
