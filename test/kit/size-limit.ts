import { expect } from 'vitest';

/**
 * Fails if something has more bytes than its limit. The message says how many more, and where the limit is.
 * @example expectWithin(operation.bytes, 'operation.bytes in test/infra/bundles.test.ts', code.length, 'The bundle')
 */
export const expectWithin = (limit: number, place: string, bytes: number, what: string): void => {
  const message = `${what} is ${bytes - limit} bytes over its limit. Make it smaller, or raise ${place}`;
  expect(bytes, message).toBeLessThanOrEqual(limit);
};
