import { type App, Stack, Validations } from 'aws-cdk-lib';
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
  const reason = 'A grant on the table covers its own indexes, and nothing else.';
  for (const each of app.node.findAll()) {
    if (!(each instanceof CfnRole || each instanceof CfnPolicy)) continue;
    const stack = Stack.of(each);
    const policies = JSON.stringify(stack.resolve(each instanceof CfnRole ? each.policies : each.policyDocument) ?? '');
    for (const [, table] of policies.matchAll(/"Fn::GetAtt":\["(\w+)","Arn"\]\},"\/index\/\*"/g))
      Validations.of(each).acknowledge({ id: `AwsSolutions-IAM5[Resource::<${table}.Arn>/index/*]`, reason });
  }
};
