import { readFileSync } from 'node:fs';
import { type ErrorResponse, errors, responseOf } from '@lambda-service/runtime/http';
import { advice } from '@lambda-service/tools/verdict';
import { responses as gatewayResponses } from 'http-api-emulator/testing';
import { breaksOf, readReleases } from 'openapi-contract';
import { describe, expect, inject, test, vi } from 'vitest';
import {
  compile,
  contract,
  examplesOf,
  isAllowed,
  newBody,
  type Operation,
  operations,
  tableKey,
} from '../data/index.ts';
import { propertiesOf } from '../stack/template.ts';
import { loadOperation } from '../under-test.ts';
import { part } from './part.ts';

export const testContract = part('contract', () => {
  test('schemas/openapi.yaml declares OpenAPI 3.1.0, and the version in package.json', () => {
    expect([contract.openapi, contract.info.version]).toEqual([
      '3.1.0',
      JSON.parse(readFileSync('package.json', 'utf8')).version,
    ]);
  });

  const releases = readReleases('schemas/released');
  if (releases.length === 0) test.todo('the contract breaks no client of a release: npm version has made none yet');

  test.each(releases)('the contract breaks no client of release $version', ({ contract: released }) => {
    expect(breaksOf(released, contract), advice).toEqual([]);
  });

  test('the contract refuses a key that DynamoDB cannot store, of the table or of an index: if it is text, give it minLength: 1 and maxLength: 512', () => {
    const [{ AttributeDefinitions: attributes } = {}] = Object.values(propertiesOf('AWS::DynamoDB::GlobalTable'));
    const names = (attributes as { AttributeName: string }[]).map(({ AttributeName }) => AttributeName);
    const keys = names.filter((name) => name in newBody());
    expect(keys).toContain(tableKey.name);
    for (const key of keys)
      for (const text of ['', 'x'.repeat(2_049), 'ü'.repeat(1_025)])
        expect(isAllowed({ [key]: text }), `${key} with ${text.length} characters`).toBe(false);
  });

  /**
   * Returns the examples of our errors (those with the fields `error` and `message`) in an operation's error responses,
   * each with the status of its response.
   */
  const documentedErrors = ({ responses }: Operation): ErrorResponse[] =>
    responses.flatMap(({ status, ...body }) =>
      examplesOf(body).flatMap((value) => {
        const isError = status >= 400 && value instanceof Object && 'error' in value && 'message' in value;
        return isError ? { status, error: Number(value.error), message: String(value.message) } : [];
      }),
    );

  const { notJson, notValid, tooLarge, notJsonType, encoded, ...ofAll } = errors;

  /**
   * Returns the errors that an operation can send: errors common to all operations, errors for a bad body or bad
   * parameters (if the operation has a body or parameters), and errors that its entry exports.
   */
  const catalogueOf = async ({ id, parameters, requestBody }: Operation): Promise<ErrorResponse[]> => {
    // An entry reads its function's environment when it loads.
    const environments = inject('stack').functions.flatMap(({ environment }) => Object.entries(environment));
    for (const [name, value] of [['AWS_REGION', 'us-east-1'] as const, ...environments]) vi.stubEnv(name, value);
    const { errors: own } = await loadOperation(id);
    return [
      ...Object.values(ofAll),
      ...(requestBody ? [notJson, notValid, tooLarge, notJsonType, encoded] : []),
      ...(parameters.length > 0 && !requestBody ? [notValid] : []),
      ...Object.entries(own).flatMap(([number, rows]) =>
        rows.map(([, message]) => responseOf(Number(number), message)),
      ),
    ];
  };

  describe.each(operations)('$routeKey in schemas/openapi.yaml', (operation) => {
    const { parameters, requestBody, responses } = operation;

    test('has at least one example of each parameter and each body, and every example matches its schema', () => {
      const bodies = [...(requestBody ? [requestBody] : []), ...responses].filter(({ schema }) => schema !== undefined);
      const all = [
        ...parameters.map(({ schema, example }) => ({ schema, examples: [example] })),
        ...bodies.map((body) => ({ schema: body.schema ?? {}, examples: examplesOf(body) })),
      ];
      expect(all.filter(({ examples }) => examples.length === 0)).toEqual([]);
      const invalid = all.flatMap(({ schema, examples }) => {
        const validate = compile(schema);
        return examples.filter((example) => !validate(example));
      });
      expect(invalid).toEqual([]);
    });

    test('has an example of every error that the operation can send, with the right status and message, and of no other error', async () => {
      const catalogue = (await catalogueOf(operation)).map(({ status, error, message }) => ({
        status,
        error,
        message: error === notValid.error ? expect.any(String) : message,
      }));
      const documented = documentedErrors(operation);
      const place = `schemas/openapi.yaml, the responses of ${operation.routeKey}`;
      for (const each of catalogue)
        expect(documented, `${place}: add an example of the error ${each.error} with this message`).toContainEqual(
          each,
        );
      for (const each of documented)
        expect(
          catalogue,
          `${place}: the operation does not send the error ${each.error} with this message`,
        ).toContainEqual(each);
    });

    test("has an example of each of the gateway's error responses that this operation's callers can get", () => {
      const { noContent, notFound, bodyTooLarge, ...others } = gatewayResponses;
      // The emulator never throttles, as API Gateway does.
      const throttled = { status: 429, body: '{"message":"Too Many Requests"}' };
      const ofGateway = [...Object.values(others), throttled, ...(requestBody ? [bodyTooLarge] : [])];
      const documented = responses.flatMap(({ status, ...body }) =>
        examplesOf(body).map((value) => ({ status, value })),
      );
      expect(documented).toEqual(
        expect.arrayContaining(ofGateway.map(({ status, body }) => ({ status, value: JSON.parse(String(body)) }))),
      );
    });

    test('declares the request id for each response, and for each error status exactly the headers that errors with this status have', async () => {
      const sent = (await catalogueOf(operation)).flatMap(({ status, headers = {} }) =>
        Object.keys(headers).map((name) => `${status} ${name}`),
      );
      const ids = responses.map(({ status }) => `${status} apigw-requestid`);
      const declared = responses.flatMap(({ status, headers }) => headers.map((name) => `${status} ${name}`));
      expect(declared).toEqual(expect.arrayContaining(ids));
      expect(declared.filter((each) => /^[45]/.test(each)).sort()).toEqual(
        [...new Set([...sent, ...ids.filter((each) => /^[45]/.test(each))])].sort(),
      );
    });
  });
});
