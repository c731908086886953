/**
 * Makes two versions of the stack: starts a roll-out from the functions of an earlier commit to those of the working
 * tree, and says what a deployment of one version over the other does to the older one.
 */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { ServiceFunction } from '@lambda-service/cdk';
import { bundle, setBundle } from '@lambda-service/cdk/bundling';
import { checkOut, sharedWithMain, startIn } from '@lambda-service/tools/checkouts';
import { TableV2 } from 'aws-cdk-lib/aws-dynamodb';
import { type FunctionSpec, readTemplate, type Template } from 'http-api-emulator/testing';
import type { Contract } from 'openapi-contract/document';
import { inject, vi } from 'vitest';
import { parse } from 'yaml';
import { takenBy } from '../data/contract.ts';
import { bodyOf, type Content, newId, someContents } from '../data/example.ts';
import { temporaryFolder } from '../programs/local-service.ts';
import { featureFlags } from '../stack/settings.ts';
import { functionNameOf, permissionsOf } from '../stack/template.ts';
import { audience } from '../tokens.ts';
import { createOperation } from '../under-test.ts';
import { startLimit } from './scale.ts';
import { type Changes, type Handler, startTrialStack } from './trial-stack.ts';

const git = async (...args: string[]): Promise<string> =>
  (await promisify(execFile)('git', args, { cwd: process.cwd() })).stdout.trim();

/** Besides the npm packages in a function's bundle, these files and folders decide what the bundle contains. */
const sources = [
  'functions',
  'packages/runtime/*.ts',
  ':!packages/runtime/test',
  'packages/cdk/sdk-stubs',
  'packages/cdk/bundling.ts',
  'schemas/openapi.yaml',
  // A service gets the next version of the packages by a change of this file.
  'package.json',
];

/**
 * For `git log -G`, which lists a commit if it changed a line that matches: matches each line that is neither empty nor
 * only a comment.
 */
const codeLine = '^[[:space:]]*([^[:space:]/*#]|/[^/*])';

/**
 * Lists commits that could be the one on AWS when HEAD is deployed, newest first: the commit at which HEAD's branch
 * left `main` (unless that is HEAD itself), and the commits on `main` just before each of the last ten changes to the
 * functions' code.
 */
const earlierCommits = async (signal: AbortSignal): Promise<string[]> => {
  const head = await git('rev-parse', 'HEAD');
  const base = (await sharedWithMain(signal)) ?? head;
  const options = ['-10', '--first-parent', '--format=%P', '--no-show-signature', `-G${codeLine}`];
  const parents = await git('log', ...options, base, '--', ...sources);
  const before = parents.split('\n').flatMap((line) => line.split(' ')[0] || []);
  return base === head ? before : [base, ...before];
};

/**
 * Bundles the functions of a commit as the commit's stack does, but with the npm packages and feature flags of the
 * working tree. Returns no functions if the commit has no stack with today's name: the project had no stack yet, or
 * the project did not have this name yet. Returns none, either, if a package is missing here.
 * @throws Error with the output of the synthesis if the stack cannot be synthesized
 * @param folder gets a checkout and the bundles; the caller removes the folder
 */
const functionsOf = async (commit: string, folder: string, signal: AbortSignal): Promise<FunctionSpec[]> => {
  const project = await checkOut(folder, commit, signal);
  const assets = path.join(folder, 'cdk.out');
  // Settings that older commits accept, too: these do not know `none` as an address.
  const mail = { stage: 'prod', alarmEmail: 'alarms@example.com' };
  const settings = { ...mail, issuer: 'https://issuer.example', audience };
  const { ended, output } = startIn(project, [process.execPath, 'infra/app.ts'], signal, {
    CDK_OUTDIR: assets,
    CDK_CONTEXT_JSON: JSON.stringify({ ...featureFlags, ...settings }),
    CDK_VALIDATION: 'false',
  });
  const code = await ended;
  if (code !== 0 && /ERR_MODULE_NOT_FOUND|Could not resolve/.test(output())) {
    console.warn(`${commit} needs a package that is no longer installed, so the roll-out starts from an older commit.`);
    return [];
  }
  if (code !== 0) throw new Error(`The stack of ${commit} cannot be synthesized:\n${output()}`);
  const template = path.join(assets, `${inject('stackName')}.template.json`);
  return existsSync(template)
    ? readTemplate(JSON.parse(await readFile(template, 'utf8')), assets, { leaveOut: true }).functions
    : [];
};

/** Returns those of `someContents` that the contract of a commit knows: none if the project had no stack yet. */
const contentsAt = async (commit: string): Promise<Content[]> => {
  if ((await git('ls-tree', commit, 'infra/app.ts')) === '') return [];
  const isTaken = takenBy(parse(await git('show', `${commit}:./schemas/openapi.yaml`)) as Contract);
  return someContents.filter((fields) => isTaken(JSON.parse(bodyOf(newId(), fields))));
};

/** `contents` are those that both versions know. `missing` tells why there is no earlier version to replace, if so. */
type Previous = { previous: FunctionSpec[]; contents: Content[]; missing?: string };

/**
 * Finds the newest commit in `earlierCommits` that knows one of today's contents and at which some bundle differs from
 * today's, and returns all functions of that commit. If there is none, as in a new repository, returns today's.
 * @throws Error if there is none and the clone is shallow, because the commit may be missing from it
 */
const findPrevious = async (folder: string, signal: AbortSignal): Promise<Previous> => {
  const hashesOf = (specs: FunctionSpec[]) => specs.map(({ environment }) => environment['BUNDLE_SHA256']);
  const { functions } = inject('stack');
  const now = hashesOf(functions);
  for (const commit of await earlierCommits(signal)) {
    const contents = await contentsAt(commit);
    if (contents.length === 0) {
      console.warn(
        `${createOperation.id} took none of today's examples at ${commit}, so the roll-out starts from an older commit.`,
      );
      continue;
    }
    const previous = await functionsOf(commit, path.join(folder, commit), signal);
    if (!hashesOf(previous).every((hash) => now.includes(hash))) return { previous, contents };
  }
  if ((await git('rev-parse', '--is-shallow-repository')) === 'true') {
    throw new Error(
      'No earlier functions were found. Perhaps this clone has too little of the history: git fetch --unshallow, or in ' +
        'a workflow fetch-depth: 0.',
    );
  }
  const missing = `No earlier commit has other functions that take an example of ${createOperation.id}: nothing to replace.`;
  console.warn(missing);
  return { previous: functions, contents: someContents, missing };
};

/**
 * Starts a stack in which the new version of each function gets a tenth of the events. `close` also removes the stack's
 * files. A trial skips its tests if an earlier version is `missing`.
 */
export const startRollOut = async (storeEndpoint: string, changes: Changes = {}) => {
  const { folder, remove } = await temporaryFolder();
  try {
    const { previous, ...found } = await findPrevious(folder, AbortSignal.timeout(startLimit));
    const stack = await startTrialStack(storeEndpoint, { ...changes, previous });
    return { ...stack, ...found, close: () => stack.close().then(remove) };
  } catch (error) {
    await remove();
    throw error;
  }
};

type Resources = Record<string, Template['Resources'][string] & { DeletionPolicy?: string }>;

/** The function whose grants and code the tests change: that of the operation that adds an item. */
const { id, file } = createOperation;
const name = functionNameOf(id);
export const changedOperation = { id, name, entry: `${file}.lambda.ts` };

/** What the function of `changedOperation` may do to the stack's tables. */
export const grantedActions = permissionsOf(name).flatMap((each) => /dynamodb:\w+/.exec(each) ?? []);

/**
 * Makes a stack in which the function of `changedOperation` may do `actions` to its tables, and has, if given, this
 * code (CommonJS).
 */
export const withChange = <T>(change: { actions: readonly string[]; code?: string }, make: () => T): T => {
  const { entry } = changedOperation;
  const code = bundle(entry);
  const { grant } = TableV2.prototype;
  const changing = vi.spyOn(TableV2.prototype, 'grant').mockImplementation(function (
    this: TableV2,
    grantee,
    ...actions
  ) {
    const isChanged = grantee instanceof ServiceFunction && grantee.node.id === name;
    return grant.call(this, grantee, ...(isChanged ? change.actions : actions));
  });
  if (change.code !== undefined) setBundle(entry, Buffer.from(change.code));
  try {
    return make();
  } finally {
    changing.mockRestore();
    setBundle(entry, code);
  }
};

/**
 * The resources in the account once `after` was deployed over `before`. CloudFormation deletes what is no longer in the
 * template, unless its DeletionPolicy retains it.
 */
export const deployedOver = (before: { Resources: Resources }, after: Template): Template => {
  const retained = Object.entries(before.Resources).filter(([, { DeletionPolicy = '' }]) =>
    /^Retain/.test(DeletionPolicy),
  );
  return { Resources: { ...Object.fromEntries(retained), ...after.Resources } };
};

/** A wrapper that makes the smoke test repeat a request at once, so that a version that answers 500 takes no minute. */
export const withoutPauses = (handler: Handler): Handler => {
  Object.assign(process.getBuiltinModule('node:timers/promises'), { setTimeout: async () => {} });
  return handler;
};
