import { type App, Validations } from 'aws-cdk-lib';
import { isServedHere } from './bundling.ts';

/**
 * Makes synthesis fail if cdk-nag finds something, unless the finding is acknowledged: the template lists acknowledged
 * findings with their reasons. `npm start`, which deploys nothing, need not wait for cdk-nag.
 */
export const addAudit = async (app: App): Promise<void> => {
  if (isServedHere) return;
  const { AwsSolutionsChecks, ServerlessChecks } = await import('cdk-nag');
  const options = { writeSuppressionsToCloudFormation: true };
  Validations.of(app).addPlugins(new AwsSolutionsChecks(app, options), new ServerlessChecks(app, options));
};
