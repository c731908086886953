/** Synthesizes the stack and bundles its functions once, for all test files that use the template or the bundles. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { setBundle } from '@lambda-service/cdk/bundling';
import { generateIfChanged } from '@lambda-service/cdk/generated-code';
import { prebuildBundles } from '@lambda-service/tools/bundles';
import { readTemplate, type ServedStack } from 'http-api-emulator/testing';
import type { TestProject } from 'vitest/node';
import { readService, refuseMissingParts } from './service.ts';
import { kinds } from './stack/settings.ts';

export default async ({ provide, config }: TestProject) => {
  generateIfChanged();
  const temporary = await mkdtemp(path.join(os.tmpdir(), 'service-tests-'));
  const folder = path.join(temporary, 'stack');
  // Retry, because a service that is about to be killed may still write.
  const remove = () => rm(temporary, { recursive: true, maxRetries: 5 });
  try {
    const [{ addStack, synthesize }] = await Promise.all([load(String(config.provide.service)), prebuild()]);
    const { template, stackName } = synthesize(addStack, kinds.prodWithIssuer, folder);
    // The bundles are CommonJS. Without this file, a package.json in a parent folder could declare them ES modules.
    await writeFile(path.join(folder, 'package.json'), '{"type":"commonjs"}');
    provide('stack', readTemplate(template, folder, { leaveOut: true }));
    provide('template', template);
    provide('stackName', stackName);
    provide('temporary', temporary);
  } catch (error) {
    await remove();
    throw error;
  }
  return remove;
};

/** Makes the bundles with which the stack is synthesized. */
const prebuild = async () => {
  for (const [entry, { code }] of await prebuildBundles()) setBundle(entry, code);
};

/** Loads the service and the CDK. Meanwhile, the bundles are made. */
const load = async (file: string) => {
  const service = await readService(file);
  refuseMissingParts(file, service);
  const [addStack, { synthesize }] = await Promise.all([service.stack(), import('./stack/make-stack.ts')]);
  return { addStack, synthesize };
};

declare module 'vitest' {
  export interface ProvidedContext {
    /** The stack, ready for the emulator to serve. Its functions trust an issuer that does not exist. */
    stack: ServedStack;
    /** The CloudFormation template that `cdk deploy` would upload. */
    template: object;
    /** The name of the stack in production. */
    stackName: string;
    /**
     * The tests' folders are in this one, which is removed even if Vitest runs no `afterAll` of a file: if `-t` skips
     * all its tests, or if it fails to load.
     */
    temporary?: string;
  }
}
