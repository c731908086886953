import { readFileSync } from 'node:fs';
import { App } from 'aws-cdk-lib';
import { PlantStoreStack } from '../infra/plant-store-stack.ts';
import { readSettings } from '../infra/settings.ts';

/**
 * Makes the app of `cdk deploy`. Its `synth` writes the template and the bundles to `folder`.
 * @param context has the values that `cdk -c` would set
 */
export const makeApp = (folder: string, context: Record<string, string>): App => {
  const cdkJson: unknown = JSON.parse(readFileSync(new URL('../cdk.json', import.meta.url), 'utf8'));
  const app = new App({
    outdir: folder,
    context: {
      ...(cdkJson as { context: object }).context,
      ...context,
    },
    // `cdk synth` validates the template. Here, validation would take a third of the start-up time of `npm start`.
    builtinCloudFormationValidation: false,
  });
  new PlantStoreStack(app, readSettings(app.node));
  return app;
};
