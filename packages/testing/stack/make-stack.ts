import { App, type Stack } from 'aws-cdk-lib';
import type { Template } from 'http-api-emulator/testing';
import { featureFlags } from './settings.ts';

/** Makes a CDK app with this context, whose cloud assembly is in `outdir`. */
export const makeApp = (context: Record<string, string>, outdir: string): App =>
  new App({
    outdir,
    context: { ...featureFlags, ...context },
    // CloudFormation's validation is left out: it is slow, changes no template, and `cdk synth` runs it.
    builtinCloudFormationValidation: false,
  });

/** Synthesizes a stack with this CDK context, template and bundles, into a folder. */
export const synthesize = (addStack: (app: App) => Stack, context: Record<string, string>, folder: string) => {
  const app = makeApp(context, folder);
  const { artifactId, stackName } = addStack(app);
  const { template }: { template: Template } = app.synth().getStackArtifact(artifactId);
  return { template, stackName };
};
