/** What `npx cdk` runs: context -> settings -> stack, and the checks that a deployment must pass. */
import { App, Validations } from 'aws-cdk-lib';
import { AwsSolutionsChecks, ServerlessChecks } from 'cdk-nag';
import { PlantStoreStack } from './plant-store-stack.ts';
import { readSettings, type Settings } from './settings.ts';

const settingsOf = (app: App): Settings => {
  try {
    return readSettings(app.node);
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exit(1);
  }
};

const app = new App();
new PlantStoreStack(app, settingsOf(app));
// A finding that nobody has acknowledged, with the reason, fails the synthesis. The template tells what was.
const audit = { writeSuppressionsToCloudFormation: true };
Validations.of(app).addPlugins(new AwsSolutionsChecks(app, audit), new ServerlessChecks(app, audit));
