/** A stack in the middle of a roll-out: the working tree's functions, and those of the commit that they replace. */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import type { FunctionSpec } from '../../emulator/served-stack.ts';
import { readTemplate } from '../../emulator/template/read-template.ts';
import { checkOut } from '../../scripts/checkout.ts';
import { startIn } from '../../scripts/project-copy.ts';
import { temporaryFolder } from './local-service.ts';
import { type Changes, startTrialStack, type TrialStack } from './trial-stack.ts';

const git = async (...args: string[]): Promise<string> =>
  (await promisify(execFile)('git', args, { cwd: path.resolve(import.meta.dirname, '../..') })).stdout.trim();

/** What becomes part of a bundle. */
const sources = ['functions', 'infra/sdk-stubs', 'infra/bundling.ts', 'schemas/openapi.yaml', 'package-lock.json'];

/**
 * Returns the commit that a deployment replaces: on a branch, the one at which it left `main`. On `main`, the commit
 * before the last one that changed a bundle. @throws Error if this clone does not have it
 */
const previousCommit = async (): Promise<string> => {
  const head = await git('rev-parse', 'HEAD');
  const base = await git('merge-base', 'HEAD', 'origin/main').catch(() => head);
  if (base !== head) return base;
  const lastChange = await git('rev-list', '-1', 'HEAD', '--', ...sources);
  return git('rev-parse', '--verify', `${lastChange}^`).catch(() => {
    throw new Error('This clone has only part of the history. Fetch the rest: git fetch --unshallow');
  });
};

/**
 * Bundles the functions of a commit, as its own stack does.
 * @param folder gets a checkout and the bundles; the caller removes it. @throws Error with the output if that fails
 */
const functionsOf = async (commit: string, folder: string, signal: AbortSignal): Promise<FunctionSpec[]> => {
  const project = await checkOut(folder, commit, signal);
  const { context } = JSON.parse(await readFile(path.join(project.folder, 'cdk.json'), 'utf8'));
  const assets = path.join(folder, 'cdk.out');
  const settings = { issuer: 'https://issuer.example', audience: 'urn:plant-store' };
  const { ended, output } = startIn(project, [process.execPath, 'infra/app.ts'], signal, {
    CDK_OUTDIR: assets,
    CDK_CONTEXT_JSON: JSON.stringify({ ...context, ...settings }),
    CDK_VALIDATION: 'false',
  });
  if ((await ended) !== 0) throw new Error(`The stack of ${commit} cannot be synthesized:\n${output()}`);
  const template = await readFile(path.join(assets, 'PlantStore.template.json'), 'utf8');
  return readTemplate(JSON.parse(template), assets).functions;
};

/** Starts a stack in which the new version of each function gets a tenth of the events. `close` also removes its files. */
export const startRollOut = async (storeEndpoint: string, changes: Changes = {}): Promise<TrialStack> => {
  const { folder, remove } = await temporaryFolder();
  try {
    const previous = await functionsOf(await previousCommit(), folder, AbortSignal.timeout(120_000));
    const stack = await startTrialStack(storeEndpoint, { ...changes, previous });
    return { ...stack, close: () => stack.close().then(remove) };
  } catch (error) {
    await remove();
    throw error;
  }
};
