/** `npx cdk` runs this file: it reads the settings from the context, creates the stack and checks it with cdk-nag. */
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
// A finding that is not acknowledged fails the synthesis. The template lists the acknowledged ones with their reasons.
const audit = { writeSuppressionsToCloudFormation: true };
Validations.of(app).addPlugins(new AwsSolutionsChecks(app, audit), new ServerlessChecks(app, audit));
