import { fileURLToPath } from 'node:url';
import type { Duration } from 'aws-cdk-lib';
import { Architecture, LoggingFormat, Runtime } from 'aws-cdk-lib/aws-lambda';
import { LogLevel, NodejsFunction, OutputFormat } from 'aws-cdk-lib/aws-lambda-nodejs';
import { LogGroup, RetentionDays } from 'aws-cdk-lib/aws-logs';
import type { Construct } from 'constructs';

type ServiceFunctionProps = {
  /** The entry's path below functions/. */
  entry: string;
  environment: Record<string, string>;
  timeout: Duration;
};

const root = fileURLToPath(new URL('..', import.meta.url));

/** A function of this service: all of them are built and run alike. */
export class ServiceFunction extends NodejsFunction {
  constructor(scope: Construct, id: string, { entry, environment, timeout }: ServiceFunctionProps) {
    super(scope, id, {
      entry: fileURLToPath(new URL(`../functions/${entry}`, import.meta.url)),
      projectRoot: root,
      depsLockFilePath: fileURLToPath(new URL('../package-lock.json', import.meta.url)),
      runtime: Runtime.NODEJS_24_X,
      architecture: Architecture.ARM_64,
      // CPU grows with memory, and start-up is all CPU: 1,024 MB are 0.58 of a core, on which the worst body that is
      // allowed takes up to 2 s to parse. (Measured in full with the cold starts.)
      memorySize: 1_024,
      timeout,
      environment,
      logGroup: new LogGroup(scope, `${id}Logs`, { retention: RetentionDays.THREE_MONTHS }),
      // Lambda wraps what the functions log: time, level, request id, and the logged object as `message`. What
      // @aws-lambda-powertools/logger 2.36 would add (a flag for cold starts, the function's name and memory, sampling)
      // stands in Lambda's own report line or is of no use to one line a request; its price, measured on createPlant: a
      // bundle 7 % larger and an import 8 % slower. It would also log every error with its message, which may quote what
      // the store sent.
      loggingFormat: LoggingFormat.JSON,
      bundling: {
        // What is tested is what runs: the SDK of the lock file, not the one that the runtime happens to bring.
        bundleAwsSDK: true,
        minify: true,
        // CommonJS output starts faster than ESM, whose import of node:http also loads undici.
        format: OutputFormat.CJS,
        // Libraries' ESM sources can be shaken, their CommonJS builds cannot: 195 KB less.
        mainFields: ['module', 'main'],
        logLevel: LogLevel.WARNING,
      },
    });
  }
}
