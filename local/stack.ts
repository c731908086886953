import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { App } from 'aws-cdk-lib';
import { type LocalStack, readTemplate } from '../emulator/template/read-template.ts';
import { PlantStoreStack } from '../infra/plant-store-stack.ts';
import { readSettings } from '../infra/settings.ts';

/** Synthesizes into `folder`, which must keep the bundles. `context` has the values that `cdk -c` would set. */
export const synthesize = (folder: string, context: Record<string, string>): LocalStack => {
  const cdkJson: unknown = JSON.parse(readFileSync(new URL('../cdk.json', import.meta.url), 'utf8'));
  const app = new App({
    outdir: folder,
    context: {
      ...(cdkJson as { context: object }).context,
      'aws:cdk:enable-asset-metadata': true,
      ...context,
    },
    // `cdk synth` validates the template. Here, validation would take a third of the start-up time of `npm start`.
    builtinCloudFormationValidation: false,
  });
  const stack = new PlantStoreStack(app, readSettings(app.node));
  const { template } = app.synth().getStackArtifact(stack.artifactId);
  // The bundles are CommonJS. Without this file, a package.json in a parent folder could declare them ES modules.
  writeFileSync(path.join(folder, 'package.json'), '{"type":"commonjs"}');
  return readTemplate(template, folder);
};
