import { chmodSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { AssetHashType, DockerImage, type Duration, RemovalPolicy } from 'aws-cdk-lib';
import type { IAlarm } from 'aws-cdk-lib/aws-cloudwatch';
import { LambdaDeploymentConfig, LambdaDeploymentGroup } from 'aws-cdk-lib/aws-codedeploy';
import { PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import {
  Alias,
  ApplicationLogLevel,
  Architecture,
  Code,
  type IFunction,
  type IVersion,
  Function as LambdaFunction,
  LoggingFormat,
  Runtime,
  SystemLogLevel,
  Tracing,
} from 'aws-cdk-lib/aws-lambda';
import type { Construct } from 'constructs';
import { acknowledge } from './acknowledge.ts';
import { bundle, functions } from './bundling.ts';
import { ServiceLog } from './service-log.ts';
import type { Stage } from './settings.ts';

type ServiceFunctionProps = {
  /** The entry's path below functions/. */
  entry: string;
  environment: Record<string, string>;
  timeout: Duration;
  stage: Stage;
};

/** A function of this service: all of them are built and run alike. */
export class ServiceFunction extends LambdaFunction {
  /** What the function logs. */
  readonly log: ServiceLog;
  /** What callers call: the version that was rolled out last, or two while one is tried. */
  readonly live: IFunction;
  /** Always given. */
  declare readonly timeout: Duration;
  readonly #alias: Alias;

  constructor(scope: Construct, id: string, { entry, environment, timeout, stage }: ServiceFunctionProps) {
    const log = new ServiceLog(scope, `${id}Logs`, stage);
    // A role of its own, since the one that CDK makes has a managed policy for every log group of the account.
    const role = new Role(scope, `${id}Role`, { assumedBy: new ServicePrincipal('lambda.amazonaws.com') });
    log.grantWrite(role);
    super(scope, id, {
      code: bundled(entry),
      handler: 'index.handler',
      runtime: Runtime.NODEJS_24_X,
      architecture: Architecture.ARM_64,
      // One whole core. Why this size, this log format, and no warm start: docs/decisions/function-settings.md.
      memorySize: 1_769,
      timeout,
      environment,
      role,
      // An older version is what an alias can be put back to. One whose deployment failed must go: Lambda makes no second
      // version of the same code.
      currentVersionOptions: {
        removalPolicy: stage === 'prod' ? RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE : RemovalPolicy.DESTROY,
      },
      logGroup: log,
      loggingFormat: LoggingFormat.JSON,
      applicationLogLevelV2: ApplicationLogLevel.INFO,
      systemLogLevelV2: SystemLogLevel.INFO,
      tracing: Tracing.ACTIVE,
    });
    acknowledge(
      role.node.findChild('DefaultPolicy'),
      'AwsSolutions-IAM5[Resource::*]',
      'X-Ray has no resources to name: PutTraceSegments and PutTelemetryRecords take * only.',
    );
    acknowledge(
      this,
      'Serverless-LambdaDLQ',
      'It is for events that nobody waits for. API Gateway waits, and its clients get the error.',
    );
    this.log = log;
    // CDK's classes are declared without regard to exactOptionalPropertyTypes: hence `as`, here and elsewhere.
    this.#alias = new Alias(this, 'Live', { aliasName: 'live', version: this.currentVersion as IVersion });
    this.live = this.#alias as IFunction;
  }

  /** Gives a new version a tenth of the calls for five minutes, then all; or none again, where an alarm goes off. */
  rollOutInSteps(alarms: IAlarm[]): void {
    const role = new Role(this, 'RollOutRole', { assumedBy: new ServicePrincipal('codedeploy.amazonaws.com') });
    // What AWSCodeDeployRoleForLambdaLimited allows for all functions, as far as it is needed, for this one.
    role.addToPolicy(
      new PolicyStatement({
        actions: ['lambda:GetAlias', 'lambda:GetProvisionedConcurrencyConfig', 'lambda:UpdateAlias'],
        resources: [this.functionArn, this.live.functionArn],
      }),
    );
    role.addToPolicy(new PolicyStatement({ actions: ['cloudwatch:DescribeAlarms'], resources: ['*'] }));
    acknowledge(
      role.node.findChild('DefaultPolicy'),
      'AwsSolutions-IAM5[Resource::*]',
      'CodeDeploy lists alarms to find those of the deployment, and may do nothing else with any of them.',
    );
    new LambdaDeploymentGroup(this, 'RollOut', {
      alias: this.#alias,
      deploymentConfig: LambdaDeploymentConfig.CANARY_10PERCENT_5MINUTES,
      alarms,
      // CDK would add the managed policy.
      role: role.withoutPolicyUpdates(),
    });
  }
}

/** The code of a function, index.js alone. NodejsFunction would make the same, through npx, which takes longer than esbuild. */
const bundled = (entry: string): Code =>
  Code.fromAsset(functions, {
    assetHashType: AssetHashType.OUTPUT,
    bundling: {
      // For where the bundling below would say that it cannot be done here, which it does not.
      image: DockerImage.fromRegistry('none'),
      // CDK takes assets for the same that have the same source and options; the function below is none to it.
      command: [entry],
      local: {
        tryBundle: (folder) => {
          // CDK has just made the folder writable for everyone (0777). It is run from, and deployed, as it is.
          chmodSync(folder, 0o755);
          const intruders = readdirSync(folder);
          if (intruders.length > 0) throw new Error(`${folder} has files of another user: ${intruders.join(', ')}`);
          const file = path.join(folder, 'index.js');
          writeFileSync(file, bundle(entry));
          // Whatever the umask: others may not write it, and Lambda must be able to read it.
          chmodSync(file, 0o644);
          return true;
        },
      },
    },
  });
