/** Keeps functions/generated as the contract says. Call it before anything imports or bundles that folder. */
import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import path from 'node:path';
import { isCurrent as isGenerated } from 'openapi-contract/source-hash';

const root = path.resolve();

/** The command that generates the code, in the project's folder: a script and its arguments. */
export const generator = [
  path.relative(root, createRequire(import.meta.url).resolve('openapi-contract/main')),
  'schemas/openapi.yaml',
  'functions/generated',
] as const;
const [, document, folder] = generator;

/** Whether functions/generated is as the contract and the generator are now. */
export const isCurrent = (): boolean => isGenerated(path.join(root, document), path.join(root, folder));

/** Generates the code again if the contract or the generator has changed. If that fails, ends this process with 1. */
export const generateIfChanged = (): void => {
  if (isCurrent()) return;
  const { status } = spawnSync(process.execPath, generator, { cwd: root, stdio: ['ignore', 2, 2] });
  if (status !== 0) process.exit(1);
};
