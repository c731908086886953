/**
 * Tests that the stack is protected from deletion, its user pool from weak logins, and its bundles from changes by
 * other users of the machine. Also tests that a changed bundle is deployed again.
 */
import { statSync } from 'node:fs';
import path from 'node:path';
import { FileSystem } from 'aws-cdk-lib';
import { expect, inject, test } from 'vitest';
import { kinds, templateOf, withStack } from '../kit/stacks.ts';

test.each(Object.entries(kinds))('only a stack of stage prod has termination protection: %s', (kind, context) => {
  expect(withStack(context, (stack) => stack.terminationProtection)).toBe(kind.startsWith('prod'));
});

test('a user who is added to the user pool by hand needs an authenticator app as the second factor, not text messages', () => {
  templateOf(kinds.dev).hasResourceProperties('AWS::Cognito::UserPool', { EnabledMfas: ['SOFTWARE_TOKEN_MFA'] });
});

test("other users of this machine cannot change a function's bundle, and Lambda can read the bundle", () => {
  for (const { folder } of inject('stack').functions) {
    expect(statSync(path.join(folder, 'index.js')).mode & 0o777).toBe(0o644);
  }
});

test("a function is deployed again if any byte of its bundle changes, because the asset's name is a hash of the bundle", () => {
  for (const { folder } of inject('stack').functions) {
    expect(path.basename(folder)).toBe(`asset.${FileSystem.fingerprint(folder)}`);
  }
});
