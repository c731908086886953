/** Tests that no bundle exceeds its size limit or has an unlisted package, because both slow down every cold start. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { FileSystem } from 'aws-cdk-lib';
import { describe, expect, inject, test } from 'vitest';
import { scopes } from '../../functions/generated/contract.ts';
import { bundle, bundleInputs } from '../../infra/bundling.ts';
import { expectWithin } from '../kit/size-limit.ts';

/** The limits for the bundle of an operation: its size, and the packages that it may contain. */
const operation = {
  bytes: 195_000,
  packages: [
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
};

/** The limits for createPlant's bundle, which is smaller because docs/benchmarks.md promises how fast it starts. */
const createPlant = { ...operation, bytes: 190_000 };

/**
 * The limits for the authorizer's bundle. The bundle contains each route with its scopes, so each route raises the size
 * limit by 100 bytes.
 */
const authorizer = { bytes: 14_400 + 100 * Object.keys(scopes).length, packages: ['aws-jwt-verify'] };

/**
 * The limits for the smoke test's bundle. It may be larger and have more packages than an operation's, because only
 * deployments wait for this function to start.
 */
const smokeTest = {
  bytes: 280_000,
  packages: [...operation.packages, '@aws-sdk/client-codedeploy', '@aws-sdk/client-lambda'],
};

const limits = { operation, createPlant, authorizer, smokeTest };

/** Returns the name of the constant in this file that has the limits for the bundle of a function. */
const limitsOf = (name: string): keyof typeof limits =>
  (({ CreatePlant: 'createPlant', Authorizer: 'authorizer', SmokeTest: 'smokeTest' }) as const)[name] ?? 'operation';

test('no bundle loads node:fs/promises, with which the SDK would look for ~/.aws/config', () => {
  expect(
    made.filter(({ bundle }) => Buffer.from(bundle).includes('node:fs/promises')).map(({ entry }) => entry),
  ).toEqual([]);
});

const deployed = inject('stack').functions.map(({ name, folder }) => ({
  name: name.replace(/[\dA-F]{8}$/, ''),
  folder,
  code: readFileSync(path.join(folder, 'index.js')),
}));

const made = readdirSync(new URL('../../functions', import.meta.url))
  .filter((file) => file.endsWith('.lambda.ts'))
  .map((entry) => ({ entry, bundle: bundle(entry), ...bundleInputs(entry) }));

test('every entry file in functions/ is deployed as exactly one function', () => {
  const functions = made.map(({ entry, bundle }) => [
    entry,
    deployed.filter(({ code }) => code.equals(bundle)).map(({ name }) => name),
  ]);
  expect(functions).toEqual(made.map(({ entry }) => [entry, [expect.any(String)]]));
});

describe.each(deployed)('the bundle of $name', ({ name, folder, code }) => {
  const inputs = made.find(({ bundle }) => code.equals(bundle));

  test('is not larger than its size limit', () => {
    const kind = limitsOf(name);
    const place = `${kind}.bytes in test/infra/bundles.test.ts`;
    expectWithin(limits[kind].bytes, place, code.length, `The bundle of ${name}`);
  });

  test('is the only file deployed for the function', () => {
    expect(readdirSync(folder)).toEqual(['index.js']);
  });

  test('contains only the packages on its list, so that nobody adds a package by accident', () => {
    const packages = inputs?.packages.map((location) => location.replace('node_modules/', ''));
    expect(packages).not.toEqual([]);
    expect(packages?.filter((each) => !limits[limitsOf(name)].packages.includes(each))).toEqual([]);
  });

  test('contains no file that is only for development', () => {
    expect(inputs?.files).toContain(`functions/${inputs?.entry}`);
    expect(inputs?.files.filter((file) => !/^(functions|infra\/sdk-stubs)\//.test(file))).toEqual([]);
  });

  test('is CommonJS, because an ES module that imports node:http would also load undici', () => {
    const text = code.toString();
    expect(text).not.toMatch(/\bimport\s*[{*"'\w][^;]*\bfrom\s*["']/);
    expect(text).toContain('require("node:');
  });
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
