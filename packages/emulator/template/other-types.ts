/** The resource types that the emulator does not serve: those without effect here, and those it refuses. */
import { namesIn, own, type Template } from './template.ts';

/**
 * The resource types that have no effect in the emulator. A property that the emulator evaluates may refer to a resource
 * of one of these types only with `leaveOut`, and then gets a made-up value.
 */
const withoutEffect = {
  ApplicationAutoScaling: 'ScalableTarget ScalingPolicy',
  Budgets: 'Budget',
  CDK: 'Metadata',
  CertificateManager: 'Certificate',
  CloudWatch: 'Alarm CompositeAlarm Dashboard',
  CodeDeploy: 'Application DeploymentConfig DeploymentGroup',
  Cognito: `ManagedLoginBranding UserPool UserPoolClient UserPoolDomain UserPoolGroup UserPoolIdentityProvider
    UserPoolResourceServer`,
  KMS: 'Alias Key',
  Lambda: 'CodeSigningConfig EventInvokeConfig LayerVersion LayerVersionPermission',
  Logs: 'LogGroup LogStream MetricFilter QueryDefinition ResourcePolicy',
  Route53: 'HostedZone RecordSet',
  // An SNS topic has no effect, because nothing sends to it here: functions get at most a made-up ARN, no alarm goes
  // off, nothing is rolled out, and no function is invoked asynchronously.
  SNS: 'Subscription Topic TopicPolicy',
  SSM: 'Parameter',
};

export const typesWithoutEffect: ReadonlySet<string> = new Set(
  Object.entries(withoutEffect).flatMap(([service, names]) => namesIn(names).map((name) => `AWS::${service}::${name}`)),
);

export const hasNoEffect = (type: string): boolean =>
  typesWithoutEffect.has(type) || /^(Custom::|AWS::CloudFormation::CustomResource$)/.test(type);

export const onlyFromApi = 'functions get events from the HTTP API only';

export const invokeInstead = 'To try the function, hand it such an event with `invoke`.';

/** Finds, in the JSON text of a property, the logical ids to which its intrinsic functions refer. */
const referredIds = /(?<="Ref":"|"Fn::GetAtt":\[?"|\$\{)\w+/g;

const idsIn = (value: unknown): string[] => JSON.stringify(value ?? '').match(referredIds) ?? [];

/** The functions that only a deployment uses: the providers of custom resources, and what only such functions use. */
export const providersOf = ({ Resources: resources }: Template): ReadonlySet<string> => {
  const deployment = '';
  const uses = Object.entries(resources).flatMap(([user, { Type, Properties }]) => {
    const { ServiceToken, ...others } = Properties ?? {};
    const isUse =
      !/^(AWS::IAM::.*|AWS::Lambda::Permission|Custom::LogRetention)$/.test(Type) && !typesWithoutEffect.has(Type);
    return [
      ...idsIn(ServiceToken).map((used) => ({ used, user: deployment })),
      ...idsIn(isUse ? others : {}).map((used) => ({ used, user })),
    ];
  });
  const providers = new Set([deployment]);
  for (let size = 0; size < providers.size; ) {
    size = providers.size;
    for (const [used, by] of Map.groupBy(uses, (each) => each.used)) {
      const isFunction = own(resources, used)?.Type === 'AWS::Lambda::Function';
      if (isFunction && by.every(({ user }) => providers.has(user))) providers.add(used);
    }
  }
  return providers;
};

/**
 * Why some resource types are refused, and what to do instead. For all other types that are not supported,
 * `unknownType` has the reason.
 */
export const refusedTypes: Record<string, [reason: string, advice?: string]> = {
  'AWS::ApiGateway::RestApi': ['only HTTP APIs are served'],
  'AWS::CloudFormation::Stack': ['nested stacks are not served'],
  'AWS::Lambda::EventSourceMapping': [onlyFromApi, invokeInstead],
  'AWS::Lambda::Url': [onlyFromApi],
};

export const unknownType: [reason: string] = ['only HTTP APIs, Lambda functions and DynamoDB tables are served'];

export const leaveOutAdvice =
  'To serve the rest of the stack, pass the option `leaveOut: true`, or --leave-out to the command.';
