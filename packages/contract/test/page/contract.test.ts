import { execFileSync } from 'node:child_process';
import { examplesOf, operations } from '@lambda-service/testing/data';
import type { Contract } from 'openapi-contract/document';
import { describe, expect, test } from 'vitest';
import { curlLine, exampleRequest, readContract } from '../../page/index.ts';

test('the example request sends the first example of a plant in the contract', async () => {
  const request = exampleRequest(await readContract('schemas/openapi.yaml'));
  const { method, requestBody } = operations.find((each) => each.requestBody) ?? {};
  expect(request).toMatchObject({ method, body: expect.any(String) });
  expect(JSON.parse(request?.body ?? '')).toEqual(examplesOf(requestBody ?? {})[0]);
});

const contractWith = (item: object) => ({ paths: { 'x-note': null, '/plants/{id}': item } }) as unknown as Contract;

const id = { name: 'id', in: 'path', example: -9223372036854775808n };
const get = { parameters: [id], responses: {} };
const examples = { one: { value: { id: 2n ** 53n + 1n } }, two: { value: {} } };
const put = { ...get, requestBody: { content: { 'application/json': { examples } } } };

test('the example request is the first operation that has a body, or else the first, with each integer as in the contract', () => {
  const path = '/plants/-9223372036854775808';
  const requestOf = (item: object) => exampleRequest(contractWith(item));
  expect(requestOf({ parameters: [], get, delete: get })).toEqual({ method: 'GET', path });
  expect(requestOf({ get, put })).toEqual({ method: 'PUT', path, body: '{"id":9007199254740993}' });
});

test('the example request resolves references, and escapes a value in the path', () => {
  const contract: unknown = {
    paths: {
      '/plants/{name}': {
        parameters: [{ name: 'name', in: 'path', examples: { one: { $ref: '#/components/examples/Name' } } }],
        put: { requestBody: { $ref: '#/components/requestBodies/Plant' }, responses: {} },
      },
    },
    components: {
      requestBodies: { Plant: { content: { 'application/json': { example: { colour: 'red' } } } } },
      examples: { Name: { value: 'a/b' } },
    },
  };
  expect(exampleRequest(contract as Contract)).toEqual({
    method: 'PUT',
    path: '/plants/a%2Fb',
    body: '{"colour":"red"}',
  });
});

test.each<[what: string, item: object]>([
  ['a path parameter has no example', { get: { parameters: [{ ...id, example: undefined }], responses: {} } }],
  ['a query parameter is required', { get: { parameters: [{ ...id, in: 'query', required: true }], responses: {} } }],
  ['the body has no example', { put: { requestBody: { content: {} }, responses: {} } }],
  ['there is no operation', { summary: 'One plant.' }],
])('there is no example request if %s', (_, item) => {
  expect(exampleRequest(contractWith(item))).toBeUndefined();
});

describe('the curl command for a request', () => {
  /** Runs `line` in a shell in which `curl` only prints its arguments. @returns these */
  const words = (line: string): string[] => {
    const env = { PATH: process.env['PATH'] };
    return execFileSync('sh', ['-c', `curl() { printf '%s\\n' "$@"; }\n${line}`], { env, encoding: 'utf8' })
      .trimEnd()
      .split('\n');
  };
  const authorization = 'authorization: Bearer a token';

  test('has the token that a command prints, and each apostrophe of the body', () => {
    const post = { method: 'POST', path: '/plants', body: '{"id":1,"name":"Tom\'s"}' };
    const [, , , ...others] = words(curlLine('http://127.0.0.1:3000', post, "echo 'a token'"));
    expect(others).toEqual([authorization, '-H', 'content-type: application/json', '-d', post.body]);
  });

  test('has each option on a separate line, and quotes the query of a request without a body', () => {
    const request = { method: 'DELETE', path: "/plants?tag=a&tag=it's" };
    const line = curlLine('http://127.0.0.1:3000', request, "echo 'a token'");
    expect(line.split(' \\\n')).toHaveLength(2);
    expect(words(line)).toEqual(['-sSi', '-X', 'DELETE', `http://127.0.0.1:3000${request.path}`, '-H', authorization]);
  });
});
