/** What `npx cdk` runs: context -> settings -> stack. */
import { App } from 'aws-cdk-lib';
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
new PlantStoreStack(app, 'PlantStore', settingsOf(app));
