import { App, type Stack } from 'aws-cdk-lib';
import type { Template } from 'http-api-emulator/testing';
import { featureFlags } from './settings.ts';

type AddStack = (app: App) => Stack;

/** Makes a CDK app with this context, whose cloud assembly is in `outdir`, and lets `addStack` add the stack to it. */
export const makeStack = (addStack: AddStack, context: Record<string, string>, outdir: string): Stack =>
  addStack(
    new App({
      outdir,
      context: { ...featureFlags, ...context },
      // CloudFormation's validation is left out: it is slow, changes no template, and `cdk synth` runs it.
      builtinCloudFormationValidation: false,
    }),
  );

/** Synthesizes a stack with this CDK context, template and bundles, into a folder. */
export const synthesize = (addStack: AddStack, context: Record<string, string>, folder: string) => {
  const { node, artifactId, stackName } = makeStack(addStack, context, folder);
  const { template }: { template: Template } = (node.root as App).synth().getStackArtifact(artifactId);
  return { template, stackName };
};
