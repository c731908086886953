/** What the bundles hold: exact budgets, since each byte and package is paid for at every cold start. */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, inject, test } from 'vitest';
import { bundleInputs } from '../../scripts/bundle-inputs.ts';

const bundleOf = (name: string) => {
  const { folder = '' } = inject('stack').functions.find((each) => each.name.startsWith(name)) ?? {};
  return { folder, bytes: readFileSync(path.join(folder, 'index.js')) };
};

const budgets: [name: string, entry: string, budget: number, packages: string[]][] = [
  [
    'CreatePlant',
    'create-plant.lambda.ts',
    187_000,
    [
      '@aws-sdk/client-dynamodb',
      '@aws-sdk/core',
      '@aws-sdk/credential-provider-env',
      '@aws-sdk/dynamodb-codec',
      '@aws/lambda-invoke-store',
      '@middy/core',
      '@middy/http-json-body-parser',
      '@middy/util',
      '@middy/validator',
      '@middy/validator/node_modules/@middy/util',
      '@smithy/core',
      '@smithy/node-http-handler',
      '@smithy/signature-v4',
      '@smithy/types',
    ],
  ],
  ['Authorizer', 'authorizer.lambda.ts', 14_500, ['aws-jwt-verify']],
];

test('every bundle has its budget', () => {
  const entries = readdirSync(new URL('../../functions', import.meta.url)).filter((file) =>
    file.endsWith('.lambda.ts'),
  );
  expect(budgets.map(([, entry]) => entry).sort()).toEqual(entries.sort());
});

describe.each(budgets)('the bundle of %s', (name, entry, budget, packages) => {
  const { folder, bytes } = bundleOf(name);

  test(`has at most ${budget} bytes, and not many less`, () => {
    expect(bytes.length).toBeLessThanOrEqual(budget);
    // So that the budget follows what is gained.
    expect(bytes.length).toBeGreaterThan(budget - 2_000);
  });

  test('is the only file that is deployed', () => {
    expect(readdirSync(folder)).toEqual(['index.js']);
  });

  test('holds these packages: a new one is a decision', () => {
    expect(bundleInputs(entry).packages.map((location) => location.replace('node_modules/', ''))).toEqual(packages);
  });

  test('holds no file that is for development', () => {
    const { files } = bundleInputs(entry);
    expect(files).toContain(`functions/${entry}`);
    expect(files.filter((file) => !file.startsWith('functions/'))).toEqual([]);
  });

  test('is CommonJS: an import of node:http in ESM would load undici', () => {
    const text = bytes.toString();
    expect(text).not.toMatch(/\bimport\s*[{*"'\w][^;]*\bfrom\s*["']/);
    expect(text).toContain('require("node:');
  });
});
