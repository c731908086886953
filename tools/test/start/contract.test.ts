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

test('the example request has each required parameter and the body, no matter where the contract defines them and their examples', () => {
  const contract = {
    paths: {
      '/plants/{id}': {
        summary: 'One plant.',
        description: 'A plant by its id.',
        parameters: [id, { $ref: '#/components/parameters/Shop' }, { name: 'page', in: 'query', example: 2n }],
        put: {
          parameters: [
            { ...id, example: undefined, examples: { one: { $ref: '#/components/examples/Id' } } },
            { name: 'tag', in: 'query', required: true, example: ['a&b', 'c'] },
          ],
          requestBody: { $ref: '#/components/requestBodies/Plant' },
          responses: {},
        },
      },
    },
    components: {
      parameters: { Shop: { name: 'shop', in: 'header', required: true, examples: { one: { value: "Tom's" } } } },
      requestBodies: { Plant: { required: true, content: { 'application/json': { example: { name: 'Moss' } } } } },
      examples: { Id: { value: 'a/b' } },
    },
  };
  expect(exampleRequest(contract)).toEqual({
    method: 'PUT',
    path: '/plants/a%2Fb?tag=a%26b&tag=c',
    headers: { shop: "Tom's" },
    body: '{"name":"Moss"}',
  });
});

test.each<[what: string, item: object]>([
  ['a path parameter', { get: { parameters: [{ ...id, example: undefined }], responses: {} } }],
  ['a required query parameter', { get: { parameters: [{ name: 'a', in: 'query', required: true }], responses: {} } }],
  ['a required body', { put: { requestBody: { required: true, content: {} }, responses: {} } }],
  ['any operation', { summary: 'One plant.' }],
])('there is no example request if the contract lacks an example of %s', (_, item) => {
  expect(exampleRequest({ paths: { '/plants/{id}': item } } as Contract)).toBeUndefined();
});
