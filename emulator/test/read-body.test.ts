import { Readable } from 'node:stream';
import { expect, test, vi } from 'vitest';
import { readBody } from '../read-body.ts';

test('copies the chunks of a body into one buffer, which it seldom replaces', async () => {
  const buffers = vi.spyOn(Buffer, 'allocUnsafeSlow');
  const sent = Buffer.from('body'.repeat(2_000));
  // If `readBody` kept the chunks instead of copying them, all of them would have the last byte.
  const chunk = Buffer.alloc(1);
  const oneByOne = async function* (): AsyncGenerator<Buffer, undefined> {
    for (const byte of sent) {
      chunk[0] = byte;
      yield chunk;
    }
  };
  const body = await readBody({ iterator: oneByOne }, sent.length);
  expect(body?.equals(sent)).toBe(true);
  expect(body?.buffer.byteLength).toBeLessThanOrEqual(2 * sent.length);
  expect(buffers.mock.calls.length).toBeLessThanOrEqual(Math.log2(sent.length) + 2);
});

test.each([
  ['as large as the limit', ['12', '34'], '1234'],
  ['larger than the limit', ['12', '345', '6'], undefined],
  ['empty', [], ''],
])('reads a body that is %s', async (_, chunks, expected) => {
  const body = await readBody(Readable.from(chunks.map((chunk) => Buffer.from(chunk))), 4);
  expect(body?.toString()).toBe(expected);
});
