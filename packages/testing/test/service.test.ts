import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { testFolder } from '../programs/local-service.ts';
import { parts, readService, refuseMissingParts } from '../service.ts';
import { service as orders } from './kit/orders.ts';

/** Writes a file that exports this, with one test file that calls a part of the suite. @returns the file's path */
const write = async (code: string): Promise<string> => {
  const folder = await testFolder();
  await mkdir(path.join(folder, 'suite'));
  await writeFile(path.join(folder, 'suite/kill.trial.ts'), "import '@lambda-service/testing/suite/kill';\n");
  await writeFile(path.join(folder, 'service.js'), code);
  return path.join(folder, 'service.js');
};

const operations = JSON.stringify(orders.operations);

test.each([
  ['export const other = {};', 'must exist and export `service`: the README of @lambda-service/testing shows one.'],
  [
    `export const service = { operations: ${operations}, create: 'createOrders' };`,
    'says that createOrders adds an item, but the contract has only createOrder.',
  ],
  [
    `export const service = { operations: ${operations}, create: 'createOrder' };`,
    "has no newChecks: export the smoke test's checks, or leave out the part 'smoke test'.",
  ],
])('a file %s is refused with the reason', async (code, message) => {
  const file = await write(code);
  await expect(readService(file)).rejects.toThrow(`${file} ${message}`);
});

test('a file that does not exist is refused', async () => {
  await expect(readService('/no/service.ts')).rejects.toThrow('/no/service.ts must exist');
});

test('a service whose tests call a part of the suite, and that leaves out the others but two, is refused with these', async () => {
  const file = await write('');
  const { kill: _, log: __, tokens: ___, ...others } = parts;
  const leaveOut = Object.fromEntries(Object.keys(others).map((name) => [name, 'a reason']));
  expect(() => refuseMissingParts(file, { ...orders, leaveOut })).toThrow(`calls tokens, log. Call each part`);
  expect(() => refuseMissingParts(file, { ...orders, leaveOut: { ...leaveOut, log: 'x', tokens: 'x' } })).not.toThrow();
});
