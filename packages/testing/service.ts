/** What the platform's tests know of a service: the part of a test that they cannot read in the contract. */
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
  /** Returns the checks of the smoke test, by operation; the first adds an item. */
  newChecks: () => Readonly<Record<string, Readonly<Record<string, Check>>>>;
  /** Loads the stack, and returns a function that adds it to an app, with the settings in the app's context. */
  stack: () => Promise<(app: App) => Stack>;
  /** The parts of the suite that this service does not run, each with the reason, which the run prints. */
  leaveOut?: { readonly [Name in PartName]?: string };
};

/** The parts of the suite that every service must pass. */
export const partNames = [
  'contract',
  'responses',
  'http',
  'tokens',
  'log',
  'stack',
  'permissions',
  'store faults',
  'model',
  'kill',
  'alarms',
  'roll-out',
  'smoke test',
  'endurance',
] as const;
export type PartName = (typeof partNames)[number];

/** The exports of an operation's entry. */
export type Entry = { handler: unknown; errors: ErrorRows };
