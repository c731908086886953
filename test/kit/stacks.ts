import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { App } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import cdkJson from '../../cdk.json' with { type: 'json' };
import { PlantStoreStack } from '../../infra/plant-store-stack.ts';
import { readSettings } from '../../infra/settings.ts';

/** Makes the stack from the context that `cdk -c` would set. Its functions are not bundled. */
export const withStack = <T>(context: Record<string, string>, use: (stack: PlantStoreStack) => T): T => {
  // Without `outdir`, CDK leaves a temporary folder behind for each App.
  const outdir = mkdtempSync(path.join(os.tmpdir(), 'plant-store-test-'));
  try {
    const app = new App({
      outdir,
      context: { ...cdkJson.context, 'aws:cdk:bundling-stacks': [], ...context },
      // CloudFormation's validation is left out: it is slow, changes no template, and app.e2e.ts runs it.
      builtinCloudFormationValidation: false,
    });
    return use(new PlantStoreStack(app, readSettings(app.node)));
  } finally {
    rmSync(outdir, { recursive: true });
  }
};

export const templateOf = (context: Record<string, string> = {}): Template =>
  withStack(context, (stack) => Template.fromStack(stack));

export const externalIssuer = {
  issuer: 'https://issuer.example',
  audience: 'urn:plant-store',
  jwksUri: 'https://issuer.example/keys',
};

/** The four kinds of stack, and the context that makes each. */
export const kinds: Record<'prod' | 'prodWithIssuer' | 'dev' | 'devWithIssuer', Record<string, string>> = {
  prod: {},
  prodWithIssuer: externalIssuer,
  dev: { stage: 'dev' },
  devWithIssuer: { stage: 'dev', ...externalIssuer },
};
