import fc from 'fast-check';
import { expect, test } from 'vitest';
import * as contract from '../../../functions/generated/validators.js';
import { CatalogueError } from '../../../functions/http/errors.ts';
import { jsonBody } from '../../../functions/http/json-body.ts';
import { validBody } from '../../../functions/http/valid-body.ts';
import { lambdaContext, proxyEvent } from '../../gateway-events.ts';

/** What the two middlewares make of a body: the parsed value, or the code of the refusal. */
const read = async (body: string, isBase64Encoded = false): Promise<{ body: unknown } | { error: number }> => {
  const event = proxyEvent(body, { isBase64Encoded });
  const request = { event, context: lambdaContext, response: undefined, error: undefined, internal: {} };
  try {
    await jsonBody().before?.(request);
    await validBody(contract.createPlant).before?.(request as never);
    return { body: request.event.body };
  } catch (error) {
    if (error instanceof CatalogueError) return { error: error.entry.error };
    throw error;
  }
};

const int64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });

/** The spellings that JSON has for one integer. */
const spelled = (integer: bigint) => {
  const digits = String(integer);
  return fc.oneof(
    fc.constant(digits),
    fc.integer({ min: 1, max: 30 }).map((zeros) => `${digits}.${'0'.repeat(zeros)}`),
    fc.constantFrom('e0', 'E+0', 'e-0').map((exponent) => digits + exponent),
    // JSON has no leading zeros: 00e-1 is no number.
    fc.integer({ min: 1, max: 30 }).map((zeros) => (integer === 0n ? '0' : `${digits}${'0'.repeat(zeros)}e-${zeros}`)),
    fc.integer({ min: 1, max: digits.length + 5 }).map((places) => {
      const sign = integer < 0n ? '-' : '';
      const padded = digits.replace('-', '').padStart(places + 1, '0');
      return `${sign}${padded.slice(0, -places)}.${padded.slice(-places)}E${places}`;
    }),
  );
};

test('any int64 in any spelling arrives exactly', async () => {
  const spelling = int64.chain((integer) => spelled(integer).map((text) => ({ integer, text })));
  await fc.assert(
    fc.asyncProperty(spelling, async ({ integer, text }) => {
      const result = await read(`{"id":${text},"name":"x"}`);
      expect(result).toEqual({ body: { id: expect.anything(), name: 'x' } });
      expect(BigInt((result as { body: { id: number | bigint } }).body.id)).toBe(integer);
    }),
  );
});

test('any number that is no int64 is refused', async () => {
  const beyond = fc.bigInt({ min: 2n ** 63n, max: 10n ** 40n }).chain((integer) => spelled(integer));
  const fraction = fc
    .tuple(int64, fc.stringMatching(/^\d{0,25}[1-9]$/))
    .map(([integer, digits]) => `${integer}.${digits}`);
  await fc.assert(
    fc.asyncProperty(fc.oneof(beyond, fraction), async (text) => {
      expect(await read(`{"id":${text},"name":"x"}`)).toEqual({ error: 40002 });
    }),
  );
});

test('any JSON value that is no NewPlant is refused as such', async () => {
  const value = fc.jsonValue().filter((candidate) => !contract.createPlant({ body: candidate }));
  await fc.assert(
    fc.asyncProperty(value, async (candidate) => {
      // Forbidden keys are refused as no JSON for this service.
      const expected = /"__proto__"|"constructor"/.test(JSON.stringify(candidate)) ? [40001, 40002] : [40002];
      expect(expected).toContainEqual(((await read(JSON.stringify(candidate))) as { error: number }).error);
    }),
  );
});

test('any bytes are a NewPlant or an error of the catalogue', async () => {
  const bytes = fc.uint8Array({ maxLength: 200 }).map((array) => Buffer.from(array));
  const damaged = fc
    .tuple(fc.record({ id: fc.maxSafeInteger(), name: fc.string(), tag: fc.string() }), fc.nat(), fc.nat(255))
    .map(([plant, at, byte]) => {
      const body = Buffer.from(JSON.stringify(plant));
      body[at % body.length] = byte;
      return body;
    });
  await fc.assert(
    fc.asyncProperty(fc.oneof(bytes, damaged), async (body) => {
      const result = await read(body.toString('base64'), true);
      expect('body' in result || [40001, 40002].includes(result.error)).toBe(true);
    }),
  );
});
