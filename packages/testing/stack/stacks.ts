import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { App, Stack } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { loadStack } from '../under-test.ts';
import { makeStack, synthesize } from './make-stack.ts';

const addStack = await loadStack();

/** Makes a stack with this CDK context and passes it to `use`. */
export const withStack = <T>(context: Record<string, string>, use: (stack: Stack) => T): T => {
  // Without `outdir`, CDK leaves a temporary folder behind for each App.
  const outdir = mkdtempSync(path.join(os.tmpdir(), 'service-test-'));
  try {
    return use(makeStack(addStack, context, outdir));
  } finally {
    rmSync(outdir, { recursive: true });
  }
};

/** Synthesizes a stack with this CDK context, template and bundles, into a folder. @returns the template */
export const synthesizeTo = (folder: string, context: Record<string, string>) =>
  synthesize(addStack, context, folder).template;

/** Makes a stack for a single construct, which is not synthesized, so nothing is written to `outdir`. */
export const emptyStack = (): Stack => new Stack(new App({ outdir: os.tmpdir() }), 'Default');

export const templateOf = (context: Record<string, string>): Template =>
  withStack(context, (stack) => Template.fromStack(stack));
