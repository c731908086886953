import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { App, Stack } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import type { Template as CloudTemplate } from '../../emulator/template/read-template.ts';
import { loadStack } from '../under-test.ts';
import { featureFlags } from './settings.ts';

const addStack = await loadStack();

/** Makes a CDK app with this context, whose cloud assembly is in `outdir`, and adds the stack to it. */
const makeStack = (context: Record<string, string>, outdir: string): Stack =>
  addStack(
    new App({
      outdir,
      context: { ...featureFlags, ...context },
      // CloudFormation's validation is left out: it is slow, changes no template, and `cdk synth` runs it.
      builtinCloudFormationValidation: false,
    }),
  );

/** Makes a stack with this CDK context and passes it to `use`. */
export const withStack = <T>(context: Record<string, string>, use: (stack: Stack) => T): T => {
  // Without `outdir`, CDK leaves a temporary folder behind for each App.
  const outdir = mkdtempSync(path.join(os.tmpdir(), 'service-test-'));
  try {
    return use(makeStack(context, outdir));
  } finally {
    rmSync(outdir, { recursive: true });
  }
};

/** Synthesizes a stack with this CDK context, template and bundles, into a folder. @returns the template */
export const synthesizeTo = (folder: string, context: Record<string, string>): CloudTemplate => {
  const { node, artifactId } = makeStack(context, folder);
  return (node.root as App).synth().getStackArtifact(artifactId).template;
};

/** Makes a stack for a single construct, which is not synthesized, so nothing is written to `outdir`. */
export const emptyStack = (): Stack => new Stack(new App({ outdir: os.tmpdir() }), 'Default');

export const templateOf = (context: Record<string, string>): Template =>
  withStack(context, (stack) => Template.fromStack(stack));
