/**
 * `npx cdk` runs this file: it reads the settings from the context, creates the stack and checks it with cdk-nag. With
 * the key github, it creates the stack that lets GitHub deploy, instead of the service.
 */
import { App, Validations } from 'aws-cdk-lib';
import { AwsSolutionsChecks, ServerlessChecks } from 'cdk-nag';
import { GitHubStack, readGitHub } from './github.ts';
import { PlantStoreStack } from './plant-store-stack.ts';
import { ConfigurationError, readSettings } from './settings.ts';

const app = new App();
try {
  const github = readGitHub(app.node);
  if (github) new GitHubStack(app, github);
  else new PlantStoreStack(app, readSettings(app.node));
} catch (error) {
  if (!(error instanceof ConfigurationError)) throw error;
  console.error(error.message);
  process.exit(1);
}
// A finding that is not acknowledged fails the synthesis. The template lists the acknowledged ones with their reasons.
const audit = { writeSuppressionsToCloudFormation: true };
Validations.of(app).addPlugins(new AwsSolutionsChecks(app, audit), new ServerlessChecks(app, audit));
