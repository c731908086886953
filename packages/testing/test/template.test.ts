import { expect, test } from 'vitest';
import { withoutHashes } from '../stack/template.ts';

test('withoutHashes leaves a SHA-256 whole, even if its end looks like the hash in a name', () => {
  const sha256 = `${'a'.repeat(24)}12345678${'b'.repeat(32)}`;
  const template = { Resources: { Fn12345678: { sha256 } } };
  expect(withoutHashes(template)).toEqual({ Resources: { Fn: { sha256 } } });
});
