import { readFileSync } from 'node:fs';
import { BundledFunction, ConfigurationError, readSettings } from '@lambda-service/cdk';
import { App } from 'aws-cdk-lib';
import type { CfnFunction } from 'aws-cdk-lib/aws-lambda';
import { PlantStoreStack } from '../../../infra/plant-store-stack.ts';

/**
 * Reads the CDK context in cdk.json: the CDK's feature flags, and settings of the stack. Leaves out the permissions
 * boundary, which is a policy on AWS that the emulator cannot read.
 * @throws ConfigurationError if the file is not valid JSON
 */
export const readCdkJson = (): Record<string, unknown> => {
  const { context } = parse(readFileSync(new URL('../../../cdk.json', import.meta.url), 'utf8'));
  return { ...context, permissionsBoundary: undefined };
};

const parse = (text: string) => {
  try {
    return JSON.parse(text);
  } catch (error) {
    // The message may quote several lines of the file.
    throw new ConfigurationError(`cdk.json is not valid JSON: ${String(error).replaceAll(/\s+/g, ' ')}`);
  }
};

/**
 * Makes a CDK app with the stack that `cdk deploy` would deploy with this context. The app's `synth` writes the
 * template and the bundles to `folder`.
 */
export const makeApp = (folder: string, context: Record<string, unknown>): App => {
  const app = new App({
    outdir: folder,
    context,
    // Skip the template check of `cdk synth`, which would take a third of the start-up time of `npm start`.
    builtinCloudFormationValidation: false,
  });
  new PlantStoreStack(app, readSettings(app.node));
  return app;
};

/** Returns the entry file of each function in an app, by the function's name in the emulator. */
export const entriesOf = (app: App): Record<string, string> =>
  Object.fromEntries(
    app.node
      .findAll()
      .filter((construct) => construct instanceof BundledFunction)
      .map((each) => {
        const resource = each.node.defaultChild as CfnFunction;
        return [each.stack.resolve(resource.functionName) ?? each.stack.getLogicalId(resource), each.entry];
      }),
  );
