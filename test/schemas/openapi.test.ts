import { readFileSync } from 'node:fs';
import { Validator } from '@seriousme/openapi-schema-validator';
import { describe, expect, test } from 'vitest';
import { errors } from '../../functions/http/errors.ts';
import packageJson from '../../package.json' with { type: 'json' };
import { compile, contract, createPlantOperation } from '../kit/contract.ts';

const mediaTypes = [
  ['the request body', createPlantOperation.requestBody.content['application/json']] as const,
  ...Object.entries(createPlantOperation.responses).map(
    ([status, { content }]) => [status, content['application/json']] as const,
  ),
];

describe('schemas/openapi.yaml', () => {
  test('is a valid OpenAPI 3.1.0 document, of the version in package.json', async () => {
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

  test('has one operation, which requires a bearer token, as the whole service does', () => {
    expect(Object.entries(contract.paths).map(([path, item]) => [path, Object.keys(item)])).toEqual([
      ['/plants', ['post']],
    ]);
    expect(createPlantOperation).toMatchObject({ operationId: 'createPlant' });
    expect(createPlantOperation).not.toHaveProperty('security');
    expect(contract.security).toEqual([{ bearerAuth: [] }]);
    expect(contract.components.securitySchemes['bearerAuth']).toMatchObject({ type: 'http', scheme: 'bearer' });
  });

  test('requires a NewPlant and returns a Plant or an Error, with the schemas of the contract', () => {
    const { requestBody, responses } = createPlantOperation;
    const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });
    expect(requestBody).toMatchObject({ required: true });
    expect(requestBody.content['application/json'].schema).toEqual(ref('NewPlant'));
    expect(responses['200']).toMatchObject({ description: 'plant response' });
    expect(responses['200']?.content['application/json'].schema).toEqual(ref('Plant'));
    expect(responses['400']).toMatchObject({ description: 'unexpected error' });
    expect(responses['400']?.content['application/json'].schema).toEqual(ref('Error'));
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
  ])('validates, with the schema %s, %j: valid is %s', (name, value, valid) => {
    const validate = compile({ $ref: `#/components/schemas/${name}` });
    expect(validate(value), `${JSON.stringify(value)} is a ${name}`).toBe(valid);
  });

  test.each(mediaTypes)('has examples of %s, and they follow its schema', (_, { schema, examples }) => {
    const validate = compile(schema);
    const faults = Object.entries(examples).filter(([, { value }]) => !validate(value));
    expect(faults).toEqual([]);
    expect(Object.keys(examples)).not.toEqual([]);
  });

  test('has an example of every error in the catalogue, with its status and message, and of no other error', () => {
    const documented = mediaTypes
      .flatMap(([status, { examples }]) => Object.values(examples).map(({ value }) => ({ status, value })))
      .flatMap(({ status, value }) => ('error' in (value as object) ? [{ status, ...(value as object) }] : []));
    const catalogue = Object.values(errors).map(({ status, error, message }) => ({
      status: String(status),
      error,
      message: error === errors.notValid.error ? expect.any(String) : message,
    }));
    expect(documented).toEqual(catalogue);
  });

  test('declares, for each status, exactly the headers that its errors have', () => {
    const documented = Object.entries(createPlantOperation.responses).flatMap(([status, { headers = {} }]) =>
      Object.keys(headers).map((name) => `${status} ${name.toLowerCase()}`),
    );
    const sent = Object.values(errors).flatMap((entry) =>
      'headers' in entry ? Object.keys(entry.headers).map((name) => `${entry.status} ${name}`) : [],
    );
    expect(documented.sort()).toEqual([...new Set(sent)].sort());
  });
});
