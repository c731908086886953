import { writeFileSync } from 'node:fs';
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
      // Not taken, since it gains nothing here or does not hold: provisioned concurrency (paid by the hour, for a cold start
      // of some 100 ms), a compile cache in the bundle (V8 takes it from the very Node.js and processor that made it, and
      // Lambda updates its own), connections or keys fetched at init (the caller waits for init as well, and a fetch that
      // fails there would be a failed start), SnapStart (not for the managed runtimes of Node.js).
      // CPU grows with memory, and 1,769 MB are one whole core. On a core of x64 the first answer of a cold start takes some
      // 50 ms of CPU time beside Node's own 30, a warm one less than 1 ms, the worst body 400 ms of the 2.3 s in which
      // createPlant must answer. At 512 MB a cold start takes 3.5 times as long. A millisecond at this size costs 2 cents a
      // million times. (Of the memory itself the worst body takes 320 MB, a plant 70.)
      // https://docs.aws.amazon.com/lambda/latest/dg/configuration-memory.html
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
      // Lambda wraps what the functions log: time, level, request id, and the logged object as `message`. What
      // @aws-lambda-powertools/logger 2.36 would add (a flag for cold starts, the function's name and memory, sampling)
      // stands in Lambda's own report line or is of no use to one line a request; its price, measured on createPlant: a
      // bundle 7 % larger and an import 8 % slower. It would also log every error with its message, which may quote what
      // the store sent.
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
          writeFileSync(path.join(folder, 'index.js'), bundle(entry));
          return true;
        },
      },
    },
  });
