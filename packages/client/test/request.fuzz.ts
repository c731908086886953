import { anyText } from '@lambda-service/testing/any-text';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseJson } from '../json.ts';
import { type Operation, requestOf } from '../request.ts';

const [minId, maxId] = [-(2n ** 63n), 2n ** 63n - 1n];

const addBook: Operation = {
  method: 'POST',
  path: '/books',
  parameters: [],
  body: { id: 'int64', name: 'string', tag: 'string' },
  responses: [],
  errorCodes: [],
};

test('the client sends every string unchanged, and every digit of an int64 given as a bigint or as a safe integer', () => {
  const ids = fc.oneof(fc.bigInt({ min: minId, max: maxId }), fc.maxSafeInteger());
  const books = fc.record({ id: ids, name: anyText, tag: anyText }, { requiredKeys: ['id', 'name'] });
  fc.assert(
    fc.property(books, ({ id, ...book }) => {
      const { body = '' } = requestOf(addBook, '', {}, { id, ...book });
      expect(body).toContain(`"id":${BigInt(id)}`);
      expect(parseJson(body)).toMatchObject(book);
    }),
    { examples: [[{ id: minId, name: '' }], [{ id: maxId, name: '' }], [{ id: 2n ** 53n + 1n, name: '"id":7' }]] },
  );
});
