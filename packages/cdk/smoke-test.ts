import { Duration, Stack } from 'aws-cdk-lib';
import type { TableV2 } from 'aws-cdk-lib/aws-dynamodb';
import type { Construct } from 'constructs';
import { acknowledge } from './acknowledge.ts';
import { BundledFunction, type ServiceFunction } from './service-function.ts';
import type { Settings } from './settings.ts';

type SmokeTestProps = Pick<Settings, 'stage' | 'tracing'> & {
  /** By the names that packages/runtime/smoke-test/ uses for them. */
  functions: Record<string, ServiceFunction>;
  /** The table to which the checks add items. */
  table: TableV2;
  issuer: string;
};

/** Tests the new version of each function before it gets requests from clients: packages/cdk/decisions.md. */
export class SmokeTest extends BundledFunction {
  constructor(scope: Construct, id: string, { functions, table, issuer, stage, tracing }: SmokeTestProps) {
    const arns = Object.entries(functions).map(([name, { currentVersion }]) => [name, currentVersion.functionArn]);
    super(scope, id, {
      entry: 'smoke-test.lambda.ts',
      // CodeDeploy's event does not say which versions to test, so pass the versions in the function's environment.
      environment: {
        ISSUER: issuer,
        TABLE_NAME: table.tableName,
        VERSIONS: Stack.of(scope).toJsonString(Object.fromEntries(arns)),
      },
      timeout: Duration.minutes(2),
      stage,
      tracing,
    });
    for (const { currentVersion } of Object.values(functions)) currentVersion.grantInvoke(this);
    // In the end, the smoke test deletes what it has added.
    table.grant(this, 'dynamodb:DeleteItem');
    acknowledge(
      this,
      'Serverless-LambdaDLQ',
      'Nobody would read a queue of lost events: CodeDeploy fails a deployment whose hook does not report.',
    );
  }
}
