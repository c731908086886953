/** Lists which resource types the emulator serves, and which of their properties; it refuses everything else. */

type Properties = {
  /** Which of a resource's properties the emulator reads. */
  read: readonly string[];
  /** The properties that are ignored, because they make no difference to requests, functions or the store here. */
  withoutEffect: readonly string[];
  /**
   * The reasons why some properties of a resource are refused. A property that is in none of the lists `read`,
   * `withoutEffect` and `refused` is refused, too.
   */
  refused?: Record<string, string>;
};

const table = {
  read: ['TableName', 'KeySchema', 'AttributeDefinitions', 'GlobalSecondaryIndexes', 'LocalSecondaryIndexes'],
  // StreamSpecification is ignored: nothing can read the stream, since event sources and the stream's ARN are refused.
  // TimeToLiveSpecification is ignored: DynamoDB may keep expired items for days, so services must expect such items.
  withoutEffect: [
    'BillingMode',
    'SSESpecification',
    'StreamSpecification',
    'TimeToLiveSpecification',
    'WarmThroughput',
    // Only AWS::DynamoDB::Table has the properties from here to Tags.
    'ContributorInsightsSpecification',
    'DeletionProtectionEnabled',
    'OnDemandThroughput',
    'PointInTimeRecoverySpecification',
    'ProvisionedThroughput',
    'TableClass',
    'Tags',
    // The following properties exist only in AWS::DynamoDB::GlobalTable. They have no effect, because the emulator has
    // no replicas in other regions and does not limit throughput.
    'GlobalTableWitnesses',
    'MultiRegionConsistency',
    'ReadOnDemandThroughputSettings',
    'ReadProvisionedThroughputSettings',
    'WriteOnDemandThroughputSettings',
    'WriteProvisionedThroughputSettings',
  ],
  refused: {
    ImportSourceSpecification: 'the items to import are in S3, which is not emulated',
    ResourcePolicy: "only the policies of the functions' roles are enforced here, not those of tables",
  },
} as const satisfies Properties;

const onlyByPermission = 'API Gateway may invoke a function here by an AWS::Lambda::Permission only, not by a role';

/**
 * The resource types that the emulator serves, each with lists of properties. A property that is on none of the lists
 * of its resource's type is refused.
 */
export const served = {
  'AWS::ApiGatewayV2::Api': {
    read: ['CorsConfiguration', 'ProtocolType'],
    withoutEffect: [
      'Description',
      'DisableExecuteApiEndpoint',
      'DisableSchemaValidation',
      'FailOnWarnings',
      'IpAddressType',
      'Name',
      'Tags',
      'Version',
    ],
    refused: { Body: 'routes are read from AWS::ApiGatewayV2::Route, not from an OpenAPI document' },
  },
  'AWS::ApiGatewayV2::Route': {
    read: ['ApiId', 'AuthorizationType', 'AuthorizerId', 'RouteKey', 'Target'],
    // AuthorizationScopes has no effect, because only JWT authorizers use scopes, and JWT authorizers are refused.
    withoutEffect: ['AuthorizationScopes', 'OperationName'],
  },
  'AWS::ApiGatewayV2::Integration': {
    read: ['ApiId', 'ConnectionType', 'IntegrationType', 'IntegrationUri', 'PayloadFormatVersion', 'TimeoutInMillis'],
    // IntegrationMethod has no effect, because API Gateway always invokes a Lambda function with POST.
    withoutEffect: ['Description', 'IntegrationMethod'],
    refused: {
      CredentialsArn: onlyByPermission,
      RequestParameters: 'parameter mapping of requests is not emulated',
      ResponseParameters: 'parameter mapping of responses is not emulated',
    },
  },
  'AWS::ApiGatewayV2::Authorizer': {
    read: [
      'ApiId',
      'AuthorizerPayloadFormatVersion',
      'AuthorizerResultTtlInSeconds',
      'AuthorizerType',
      'AuthorizerUri',
      'EnableSimpleResponses',
      'IdentitySource',
    ],
    // JwtConfiguration has no effect: only JWT authorizers use it, and authorizers with AuthorizerType JWT are refused.
    withoutEffect: ['JwtConfiguration', 'Name'],
    refused: { AuthorizerCredentialsArn: onlyByPermission },
  },
  'AWS::ApiGatewayV2::Stage': {
    read: ['ApiId', 'AutoDeploy', 'DefaultRouteSettings', 'RouteSettings', 'StageName'],
    withoutEffect: ['AccessLogSettings', 'Description', 'Tags'],
    refused: { StageVariables: 'events have no stageVariables here' },
  },
  // On AWS, a domain name gives the API another address. It has no effect here, because the API is served on this
  // machine.
  'AWS::ApiGatewayV2::DomainName': {
    read: [],
    withoutEffect: ['DomainName', 'DomainNameConfigurations', 'Tags'],
    refused: { MutualTlsAuthentication: 'clients need no certificate here' },
  },
  'AWS::ApiGatewayV2::ApiMapping': {
    read: ['ApiId'],
    withoutEffect: ['DomainName', 'Stage'],
    refused: { ApiMappingKey: 'the paths of requests have no such prefix here' },
  },
  'AWS::Lambda::Function': {
    read: [
      'Code',
      'Environment',
      'FunctionName',
      'Handler',
      'LoggingConfig',
      'MemorySize',
      'PackageType',
      // A ReservedConcurrentExecutions of 0 is refused, because Lambda would never run the function. Other values are
      // ignored, because `LambdaFunction` has a fixed limit of instances.
      'ReservedConcurrentExecutions',
      'Role',
      'Runtime',
      'Timeout',
    ],
    // DeadLetterConfig is only for asynchronous invocations; an HTTP API invokes functions synchronously.
    // EphemeralStorage is the size of /tmp on Lambda; here, functions use this machine's /tmp.
    withoutEffect: [
      'Architectures',
      'CodeSigningConfigArn',
      'DeadLetterConfig',
      'Description',
      'EphemeralStorage',
      'KmsKeyArn',
      'RecursiveLoop',
      'RuntimeManagementConfig',
      'Tags',
      'TracingConfig',
    ],
    refused: {
      FileSystemConfigs: 'this machine does not have that file system',
      ImageConfig: 'container images do not run here',
      Layers: 'the files of a layer are not on this machine',
      VpcConfig: 'this machine is not in that network, so the function would reach other hosts',
    },
  },
  'AWS::Lambda::Version': {
    read: ['FunctionName'],
    withoutEffect: ['CodeSha256', 'Description', 'ProvisionedConcurrencyConfig', 'RuntimePolicy'],
  },
  'AWS::Lambda::Alias': {
    read: ['FunctionName', 'FunctionVersion', 'Name'],
    withoutEffect: ['Description', 'ProvisionedConcurrencyConfig'],
    refused: { RoutingConfig: 'the template has the code of one version only' },
  },
  'AWS::Lambda::Permission': {
    read: ['Action', 'FunctionName', 'Principal'],
    withoutEffect: [
      'EventSourceToken',
      'FunctionUrlAuthType',
      'InvokedViaFunctionUrl',
      'PrincipalOrgID',
      'SourceAccount',
      'SourceArn',
    ],
  },
  'AWS::DynamoDB::Table': table,
  'AWS::DynamoDB::GlobalTable': { ...table, read: [...table.read, 'Replicas'] },
  'AWS::IAM::Role': {
    read: ['AssumeRolePolicyDocument', 'ManagedPolicyArns', 'PermissionsBoundary', 'Policies', 'RoleName'],
    withoutEffect: ['Description', 'MaxSessionDuration', 'Path', 'Tags'],
  },
  'AWS::IAM::Policy': { read: ['PolicyDocument', 'Roles'], withoutEffect: ['Groups', 'PolicyName', 'Users'] },
  'AWS::IAM::ManagedPolicy': {
    read: ['PolicyDocument', 'Roles'],
    withoutEffect: ['Description', 'Groups', 'ManagedPolicyName', 'Path', 'Users'],
  },
} as const satisfies Record<string, Properties>;

export type ServedType = keyof typeof served;
export type ReadProperty<T extends ServedType> = (typeof served)[T]['read'][number];

/**
 * The resource types that have no effect in the emulator. A property that the emulator evaluates may refer to a resource
 * of one of these types only with `leaveOut`, and then gets a made-up value.
 */
export const withoutEffect: ReadonlySet<string> = new Set([
  'AWS::Budgets::Budget',
  'AWS::CDK::Metadata',
  'AWS::CloudWatch::Alarm',
  'AWS::CloudWatch::CompositeAlarm',
  'AWS::CloudWatch::Dashboard',
  'AWS::CodeDeploy::Application',
  'AWS::CodeDeploy::DeploymentConfig',
  'AWS::CodeDeploy::DeploymentGroup',
  'AWS::Cognito::UserPool',
  'AWS::Cognito::UserPoolClient',
  'AWS::Cognito::UserPoolDomain',
  'AWS::Cognito::UserPoolResourceServer',
  'AWS::Lambda::EventInvokeConfig',
  'AWS::Logs::LogGroup',
  'AWS::Logs::LogStream',
  'AWS::Logs::MetricFilter',
  'AWS::Logs::QueryDefinition',
  'AWS::Route53::RecordSet',
  // An SNS topic has no effect, because nothing sends to it here: functions get at most a made-up ARN, no alarm goes
  // off, nothing is rolled out, and no function is invoked asynchronously.
  'AWS::SNS::Subscription',
  'AWS::SNS::Topic',
  'AWS::SNS::TopicPolicy',
]);

/**
 * For each resource type that invokes a function on AWS: the property that names the function. The emulator does
 * nothing for such a resource, and would never invoke the function. So it refuses the resource if the property refers
 * to a function of the template.
 */
export const invokers: Record<string, string> = {
  'AWS::Cognito::UserPool': 'LambdaConfig',
  'AWS::SNS::Subscription': 'Endpoint',
  'AWS::SNS::Topic': 'Subscription',
  // Alarms and CodeDeploy may refer to functions, too, but are not listed: in the emulator, no alarm goes off and
  // nothing is rolled out, so they would never invoke a function.
};

export const onlyFromApi = 'functions get events from the HTTP API only';

export const invokeInstead = 'Leave it out, and hand its events to the function with `invoke`.';

/**
 * Why some resource types are refused, and what to do instead. For all other types that are not supported,
 * `unknownType` has the reason.
 */
export const refusedTypes: Record<string, [reason: string, advice: string]> = {
  'AWS::ApiGateway::RestApi': ['only HTTP APIs are served', 'Use AWS::ApiGatewayV2::Api (in CDK: HttpApi).'],
  'AWS::Lambda::EventSourceMapping': [onlyFromApi, invokeInstead],
  'AWS::Lambda::LayerVersion': ['the files of a layer are not on this machine', 'Bundle them with each function.'],
  'AWS::Lambda::Url': [onlyFromApi, 'Add a route to the API instead.'],
};

export const unknownType: [reason: string, advice: string] = [
  'only HTTP APIs, Lambda functions and DynamoDB tables are served',
  'Put it into another stack.',
];

export const leaveOutAdvice =
  'To serve the stack without resources of types that are not served, pass `leaveOut: true`.';
