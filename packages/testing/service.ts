/** What the platform's tests know of a service: the part of a test that they cannot read in the contract. */
import { existsSync, globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import type { Operation } from '@lambda-service/client';
import type { ErrorRows } from '@lambda-service/runtime/http';
import type { Check } from '@lambda-service/runtime/smoke-test';
import type { App, Stack } from 'aws-cdk-lib';

type Fields = Record<string, AttributeValue | undefined>;

export type Service = {
  /** The operations by their ids, as functions/generated/contract.ts has them. */
  operations: Readonly<Record<string, Operation & { file: string; scopes: readonly string[] }>>;
  /** The id of the operation that adds an item to the first table of the stack. */
  create: string;
  /** The partition key of that table. */
  key: string;
  /** Returns the attributes that the operation stores for a body. */
  toItem: (body: never) => Fields;
  /** Loads the entry `file`, such as create-order or outside-check. It reads the environment when it loads. */
  load: (file: string) => Promise<Entry>;
  /** Returns the checks of the smoke test, by operation; the first adds an item. Leave it out with the part. */
  newChecks?: () => Readonly<Record<string, Readonly<Record<string, Check>>>>;
  /** Loads the stack, and returns a function that adds it to an app, with the settings in the app's context. */
  stack: () => Promise<(app: App) => Stack>;
  /** The parts of the suite that this service does not run, each with the reason, which the run prints. */
  leaveOut?: { readonly [Name in PartName]?: string };
};

/** The exports of an operation's entry. */
export type Entry = { handler: unknown; errors: ErrorRows };

/** The parts of the suite that every service must pass, each with the files of `suite/` that it consists of. */
export const parts = {
  contract: ['contract'],
  responses: ['function'],
  http: ['http'],
  tokens: ['tokens', 'issuer-keys'],
  log: ['log'],
  stack: ['stack'],
  permissions: ['permissions', 'deployed-permissions'],
  'store faults': ['store-faults'],
  model: ['model'],
  kill: ['kill'],
  alarms: ['alarms'],
  'roll-out': ['roll-out'],
  'smoke test': ['smoke-test'],
  // Other files of the suite test it, unless the service leaves it out.
  'outside check': [],
  endurance: ['endurance'],
} as const;
export type PartName = keyof typeof parts;

/**
 * Loads the service that a file exports.
 * @throws Error that says what to do, if there is no such file, or no service in it, or if it names an operation or a
 * part that does not exist
 */
export const readService = async (file: string): Promise<Service> => {
  const { service }: { service?: Service } = existsSync(file) ? await import(file) : {};
  if (service === undefined)
    throw new Error(`${file} must exist and export \`service\`: the README of @lambda-service/testing shows one.`);
  const { operations, create, leaveOut = {} } = service;
  const ids = Object.keys(operations);
  if (!ids.includes(create))
    throw new Error(`${file} says that ${create} adds an item, but the contract has only ${ids.join(', ')}.`);
  if (service.newChecks === undefined && !('smoke test' in leaveOut))
    throw new Error(`${file} has no newChecks: export the smoke test's checks, or leave out the part 'smoke test'.`);
  const unknown = Object.keys(leaveOut).filter((name) => !(name in parts));
  if (unknown.length > 0)
    throw new Error(`${file} leaves out ${unknown.join(', ')}, but the parts are ${Object.keys(parts).join(', ')}.`);
  return service;
};

/**
 * @throws Error with the parts of the suite that no test file beside `file` calls, and that the service does not leave
 * out
 */
export const refuseMissingParts = (file: string, { leaveOut = {} }: Service): void => {
  const folder = path.dirname(file);
  const tests = globSync('**/*.ts', { cwd: folder }).map((each) => readFileSync(path.join(folder, each), 'utf8'));
  const isCalled = (each: string) => tests.some((text) => text.includes(`@lambda-service/testing/suite/${each}'`));
  const missing = Object.entries(parts).filter(([name, files]) => !(name in leaveOut) && !files.every(isCalled));
  if (missing.length > 0)
    throw new Error(
      `No test in ${folder} calls ${missing.map(([name]) => name).join(', ')}. Call each part of the suite, or name it with the reason in \`leaveOut\` of ${file}.`,
    );
};
