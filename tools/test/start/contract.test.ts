import { expect, test } from 'vitest';
import { type Contract, exampleRequest, readContract } from '../../start/contract.ts';

test('the example request sends the first example of a plant in the contract', async () => {
  expect(exampleRequest(await readContract())).toEqual({
    method: 'POST',
    path: '/plants',
    body: '{"id":1,"name":"Swiss cheese plant","tag":"climber"}',
  });
});

const id = { name: 'id', in: 'path', example: -9223372036854775808n };
const get = { parameters: [id], responses: {} };
const examples = { one: { value: { id: 2n ** 53n + 1n } }, two: { value: {} } };
const put = { ...get, requestBody: { content: { 'application/json': { examples } } } };

test('the example request is the first operation that has a body, or else the first, with each integer as in the contract', () => {
  const path = '/plants/-9223372036854775808';
  const requestOf = (item: object) => exampleRequest({ paths: { '/plants/{id}': item } } as Contract);
  expect(requestOf({ parameters: [], get, delete: get })).toEqual({ method: 'GET', path });
  expect(requestOf({ get, put })).toEqual({ method: 'PUT', path, body: '{"id":9007199254740993}' });
});

test('the example request resolves references, and escapes a value in the path', () => {
  const contract = {
    paths: {
      '/plants/{name}': {
        parameters: [{ name: 'name', in: 'path', examples: { one: { $ref: '#/components/examples/Name' } } }],
        put: { requestBody: { $ref: '#/components/requestBodies/Plant' }, responses: {} },
      },
    },
    components: {
      requestBodies: { Plant: { content: { 'application/json': { example: { tag: 'climber' } } } } },
      examples: { Name: { value: 'a/b' } },
    },
  };
  expect(exampleRequest(contract)).toEqual({ method: 'PUT', path: '/plants/a%2Fb', body: '{"tag":"climber"}' });
});

test.each<[what: string, item: object]>([
  ['a path parameter has no example', { get: { parameters: [{ ...id, example: undefined }], responses: {} } }],
  ['a query parameter is required', { get: { parameters: [{ ...id, in: 'query', required: true }], responses: {} } }],
  ['the body has no example', { put: { requestBody: { content: {} }, responses: {} } }],
  ['there is no operation', { summary: 'One plant.' }],
])('there is no example request if %s', (_, item) => {
  expect(exampleRequest({ paths: { '/plants/{id}': item } } as Contract)).toBeUndefined();
});
