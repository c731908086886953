import { expect, test } from 'vitest';
import { type Contract, exampleRequest, readContract } from '../../local/contract.ts';

test('the example request of the contract adds its first plant', async () => {
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

test.each<[what: string, item: object, request: object]>([
  [
    'the first operation',
    { parameters: [], get, delete: get },
    { method: 'GET', path: '/plants/-9223372036854775808' },
  ],
  [
    'the first operation that has a body',
    { get, put },
    { method: 'PUT', path: '/plants/-9223372036854775808', body: '{"id":9007199254740993}' },
  ],
])('the example request is made of the examples of %s, with each integer as it is written', (_, item, request) => {
  expect(exampleRequest({ paths: { '/plants/{id}': item } } as Contract)).toEqual(request);
});
