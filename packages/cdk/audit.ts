import { type App, Stack, Validations } from 'aws-cdk-lib';
import { CfnGlobalTable } from 'aws-cdk-lib/aws-dynamodb';
import { CfnPolicy, CfnRole } from 'aws-cdk-lib/aws-iam';
import { isServedHere } from './bundling.ts';

/**
 * Makes synthesis fail if cdk-nag finds something, unless the finding is acknowledged: the template lists acknowledged
 * findings with their reasons. `npm start`, which deploys nothing, need not wait for cdk-nag.
 */
export const addAudit = async (app: App): Promise<void> => {
  if (isServedHere) return;
  const { AwsSolutionsChecks, ServerlessChecks } = await import('cdk-nag');
  const options = { writeSuppressionsToCloudFormation: true };
  acknowledgeIndexes(app);
  Validations.of(app).addPlugins(new AwsSolutionsChecks(app, options), new ServerlessChecks(app, options));
};

/** A grant on a table with indexes names these by a wildcard, for which cdk-nag wants a reason. */
const acknowledgeIndexes = (app: App): void => {
  const all = app.node.findAll();
  const reason = 'A grant on the table covers its own indexes, and nothing else.';
  for (const table of all.filter((each) => each instanceof CfnGlobalTable)) {
    const stack = Stack.of(table);
    if (stack.resolve(table.globalSecondaryIndexes) === undefined) continue;
    const id = `AwsSolutions-IAM5[Resource::<${stack.getLogicalId(table)}.Arn>/index/*]`;
    for (const each of all)
      if (each instanceof CfnRole || each instanceof CfnPolicy) Validations.of(each).acknowledge({ id, reason });
  }
};
