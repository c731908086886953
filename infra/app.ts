/** `npx cdk` runs this file. With the key `github` in the CDK context, it makes the stack that lets GitHub deploy. */

import { addAudit, ConfigurationError, GitHubStack, readGitHub, readSettings } from '@lambda-service/cdk';
import { generateIfChanged } from '@lambda-service/cdk/generated-code';
import { App } from 'aws-cdk-lib';

// Whatever umask the shell has: no other user of this machine may change the code that is deployed.
process.umask(process.umask() | 0o022);
generateIfChanged();
const { names, PlantStoreStack } = await import('./plant-store-stack.ts');
const app = new App();
try {
  const github = readGitHub(app.node);
  if (github) new GitHubStack(app, names, github);
  else new PlantStoreStack(app, readSettings(app.node));
} catch (error) {
  if (!(error instanceof ConfigurationError)) throw error;
  console.error(error.message);
  process.exit(1);
}
await addAudit(app);
