/** Synthesizes the stack and bundles its functions once, for all test files that use the template or the bundles. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import type { TestProject } from 'vitest/node';
import type { LocalStack } from '../../emulator/template/read-template.ts';
import { prebuildBundles } from '../../infra/bundling.ts';

export default async ({ provide }: TestProject) => {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'plant-store-test-'));
  const remove = () => rm(folder, { recursive: true });
  const issuer = 'https://issuer.example';
  try {
    const [{ synthesize }] = await Promise.all([import('../../local/stack.ts'), prebuildBundles()]);
    provide('stack', synthesize(folder, { issuer, jwksUri: `${issuer}/keys`, audience: 'urn:plant-store' }));
    provide('template', JSON.parse(await readFile(path.join(folder, 'PlantStore.template.json'), 'utf8')));
  } catch (error) {
    await remove();
    throw error;
  }
  return remove;
};

declare module 'vitest' {
  export interface ProvidedContext {
    /** The stack to serve. Its functions trust an issuer that does not exist. */
    stack: LocalStack;
    /** The CloudFormation template that `cdk deploy` would upload. */
    template: object;
  }
}
