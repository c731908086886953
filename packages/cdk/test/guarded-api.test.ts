import { expect, test } from 'vitest';
import { corsFor } from '../guarded-api.ts';
import { listRoutes, type Operation } from '../operations.ts';

const operations = {
  createOrder: { method: 'POST', path: '/orders', scopes: ['orders/create'], parameters: [] },
  changeOrder: {
    method: 'PUT',
    path: '/orders/{id}',
    scopes: ['orders/change'],
    parameters: [
      { name: 'if-match', in: 'header' },
      { name: 'id', in: 'path' },
    ],
  },
} satisfies Record<string, Operation>;

test('browsers may use every method and send every header parameter that the contract has', () => {
  const { allowMethods, allowHeaders } = corsFor({ operations, responseHeaders: [], allowOrigins: [] });
  expect(allowMethods).toEqual(['POST', 'PUT']);
  expect(allowHeaders).toEqual(['authorization', 'content-type', 'if-match']);
});

test('an operation of the contract without a function in the stack is named in one sentence', () => {
  expect(() => listRoutes<keyof typeof operations>(operations, Object())).toThrow(
    'The contract has the operation createOrder, but the stack has no function for it.',
  );
});
