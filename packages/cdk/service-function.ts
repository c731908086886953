import { createHash } from 'node:crypto';
import { chmodSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { type Duration, RemovalPolicy, Stage } from 'aws-cdk-lib';
import type { IAlarm } from 'aws-cdk-lib/aws-cloudwatch';
import { LambdaDeploymentConfig, LambdaDeploymentGroup } from 'aws-cdk-lib/aws-codedeploy';
import { type IRole, PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import type { Construct } from 'constructs';
import { acknowledge } from './acknowledge.ts';
import { bundle } from './bundling.ts';
import { ServiceLog } from './service-log.ts';
import type { Settings } from './settings.ts';
import { VersionRole } from './version-role.ts';

type BundledFunctionProps = Pick<Settings, 'stage' | 'tracing'> & {
  entry: string;
  environment?: Record<string, string>;
  timeout: Duration;
  /** In MB. By default 1,769, which is one whole core: packages/runtime/decisions.md. */
  memorySize?: number;
  role?: IRole;
};

/**
 * A Lambda function of this stack. All functions are built and run with the same options. Without `role`, it gets one
 * whose permissions change in place, which is good enough if callers invoke none of its versions.
 */
export class BundledFunction extends lambda.Function {
  readonly log: ServiceLog;
  readonly entry: string;

  constructor(scope: Construct, id: string, props: BundledFunctionProps) {
    const { entry, environment, timeout, memorySize = 1_769, stage, tracing } = props;
    // CDK's default role could write to every log group.
    const role =
      props.role ?? new Role(scope, `${id}Role`, { assumedBy: new ServicePrincipal('lambda.amazonaws.com') });
    const log = new ServiceLog(scope, `${id}Logs`, stage);
    log.grantWrite(role);
    const { outdir } = Stage.of(scope) as Stage;
    super(scope, id, {
      code: lambda.Code.fromAsset(writeBundle(entry, path.join(outdir, 'bundles', id))),
      handler: 'index.handler',
      runtime: lambda.Runtime.NODEJS_24_X,
      architecture: lambda.Architecture.ARM_64,
      memorySize,
      timeout,
      // The functions log this hash of their bundle with each failure: packages/runtime/decisions.md.
      environment: { ...environment, BUNDLE_SHA256: createHash('sha256').update(bundle(entry)).digest('hex') },
      role,
      // `prod` keeps older versions so that the alias can go back to one. A version whose deployment failed is deleted:
      // while it exists, Lambda publishes no new version of the same code.
      currentVersionOptions: {
        removalPolicy: stage === 'prod' ? RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE : RemovalPolicy.DESTROY,
      },
      logGroup: log,
      loggingFormat: lambda.LoggingFormat.JSON,
      applicationLogLevelV2: lambda.ApplicationLogLevel.INFO,
      systemLogLevelV2: lambda.SystemLogLevel.INFO,
      tracing: tracing ? lambda.Tracing.ACTIVE : lambda.Tracing.DISABLED,
    });
    if (tracing) {
      acknowledge(role.node.tryFindChild('DefaultPolicy') ?? role, 'AwsSolutions-IAM5[Resource::*]', anyTrace);
    } else {
      acknowledge(
        this,
        'Serverless-LambdaTracing',
        'X-Ray shows no DynamoDB call unless the SDK is instrumented, and costs more than all else at low rates.',
      );
    }
    this.log = log;
    this.entry = entry;
  }
}

const anyTrace =
  'PutTraceSegments and PutTelemetryRecords of X-Ray cannot be limited to resources: they accept only *.';

export type ServiceFunctionProps = Omit<BundledFunctionProps, 'role'>;

/** A Lambda function that the API calls: an operation's function, or the authorizer. */
export class ServiceFunction extends BundledFunction {
  /** The alias that callers invoke. It points to the current version or, during a roll-out, to the old and the new. */
  readonly live: lambda.IFunction;

  constructor(scope: Construct, id: string, props: ServiceFunctionProps) {
    const role = new VersionRole(scope, `${id}Role`, props.stage);
    super(scope, id, { ...props, role });
    // cdk-nag looks for this only in permissions that are inline.
    if (props.tracing) acknowledge(role, 'Serverless-LambdaStarPermissions', anyTrace);
    acknowledge(
      this,
      'Serverless-LambdaDLQ',
      'A dead-letter queue is for asynchronous events. API Gateway waits for the response, and clients get the error.',
    );
    // CDK's classes do not fit CDK's interfaces under TypeScript's exactOptionalPropertyTypes, so `as` is needed.
    const version = this.currentVersion as lambda.IVersion;
    this.live = new lambda.Alias(this, 'Live', { aliasName: 'live', version }) as lambda.IFunction;
  }

  /**
   * Makes CodeDeploy roll out new versions, and roll them back if an alarm goes off: packages/cdk/decisions.md. Without a
   * `smokeTest`, a tenth of the requests go to the new version untested.
   */
  rollOutInSteps(alarms: IAlarm[], smokeTest?: lambda.IFunction): void {
    // Do not take the ARN from the alias: the alias depends on this role, so the role must not refer to the alias.
    const liveArn = `${this.functionArn}:live`;
    const role = new Role(this, 'RollOutRole', { assumedBy: new ServicePrincipal('codedeploy.amazonaws.com') });
    const actions = ['lambda:GetAlias', 'lambda:GetProvisionedConcurrencyConfig', 'lambda:UpdateAlias'];
    role.addToPolicy(new PolicyStatement({ actions, resources: [this.functionArn, liveArn] }));
    // Allow the role to invoke the smoke test. CDK does that, too, but `withoutPolicyUpdates` below undoes it.
    if (smokeTest)
      role.addToPolicy(new PolicyStatement({ actions: ['lambda:InvokeFunction'], resources: [smokeTest.functionArn] }));
    role.addToPolicy(new PolicyStatement({ actions: ['cloudwatch:DescribeAlarms'], resources: ['*'] }));
    acknowledge(
      role.node.findChild('DefaultPolicy'),
      'AwsSolutions-IAM5[Resource::*]',
      'CodeDeploy lists alarms to find those of the deployment, and may do nothing else with any of them.',
    );
    new LambdaDeploymentGroup(this, 'RollOut', {
      alias: this.live as lambda.Alias,
      deploymentConfig: LambdaDeploymentConfig.CANARY_10PERCENT_5MINUTES,
      alarms,
      ...(smokeTest && { preHook: smokeTest }),
      // Keep CDK from attaching AWSCodeDeployRoleForLambdaLimited, which covers all functions.
      role: role.withoutPolicyUpdates(),
    });
    // CodeDeploy uses both of these to shift the alias, so deploy them before the alias changes.
    this.live.node.addDependency(role, ...(smokeTest ? [smokeTest] : []));
  }
}

const writeBundle = (entry: string, folder: string): string => {
  const file = path.join(folder, 'index.js');
  // The asset is the whole folder, so it must not have files of an earlier synthesis or of somebody else.
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  writeFileSync(file, bundle(entry));
  // Set the mode, whatever the umask is: no other user may write the file, and Lambda must be able to read it.
  chmodSync(file, 0o644);
  return folder;
};
