import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { App } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import cdkJson from '../../cdk.json' with { type: 'json' };
import { PlantStoreStack } from '../../infra/plant-store-stack.ts';
import { readSettings } from '../../infra/settings.ts';

/** What makes a synthesis slow and a template no other: bundles, and CDK's own rules, which app.test.ts runs. */
const fast = { 'aws:cdk:bundling-stacks': [], '@aws-cdk/core:validateAgainstDefaultRules': false };

/** The template under the context that `cdk -c` would set. Its functions are not bundled. */
export const templateOf = (context: Record<string, string> = {}): Template => {
  // CDK would leave a folder behind for each App.
  const outdir = mkdtempSync(path.join(os.tmpdir(), 'plant-store-test-'));
  try {
    const app = new App({ outdir, context: { ...cdkJson.context, ...fast, ...context } });
    return Template.fromStack(new PlantStoreStack(app, 'PlantStore', readSettings(app.node)));
  } finally {
    rmSync(outdir, { recursive: true });
  }
};

export const externalIssuer = {
  issuer: 'https://issuer.example',
  audience: 'urn:plant-store',
  jwksUri: 'https://issuer.example/keys',
};
