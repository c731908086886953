import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { App } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import cdkJson from '../../cdk.json' with { type: 'json' };
import { PlantStoreStack } from '../../infra/plant-store-stack.ts';
import { readSettings } from '../../infra/settings.ts';

/** The template under the context that `cdk -c` would set. Its functions are not bundled. */
export const templateOf = (context: Record<string, string> = {}): Template => {
  // CDK would leave a folder behind for each App.
  const outdir = mkdtempSync(path.join(os.tmpdir(), 'plant-store-test-'));
  try {
    const app = new App({
      outdir,
      context: { ...cdkJson.context, 'aws:cdk:bundling-stacks': [], ...context },
      // They take long and change no template; app.e2e.ts runs them.
      builtinCloudFormationValidation: false,
    });
    return Template.fromStack(new PlantStoreStack(app, readSettings(app.node)));
  } finally {
    rmSync(outdir, { recursive: true });
  }
};

export const externalIssuer = {
  issuer: 'https://issuer.example',
  audience: 'urn:plant-store',
  jwksUri: 'https://issuer.example/keys',
};

/** The four kinds of stack that there are, by the context that makes them. */
export const kinds: Record<'prod' | 'prodWithIssuer' | 'dev' | 'devWithIssuer', Record<string, string>> = {
  prod: {},
  prodWithIssuer: externalIssuer,
  dev: { stage: 'dev' },
  devWithIssuer: { stage: 'dev', ...externalIssuer },
};
