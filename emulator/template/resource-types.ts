/** Says which types of resources are served, and which of their properties; everything else is refused. */

type Properties = {
  /** The properties that are read. */
  read: readonly string[];
  /** The properties that change nothing that a request, a function or the store could notice here. */
  withoutEffect: readonly string[];
  /** Reasons for some of the other properties, all of which are refused. */
  refused?: Record<string, string>;
};

const table = {
  read: ['TableName', 'KeySchema', 'AttributeDefinitions', 'GlobalSecondaryIndexes', 'LocalSecondaryIndexes'],
  // Nothing can read the stream: an event source is refused, and so is a reference to the stream's ARN.
  // DynamoDB deletes expired items within a few days, so a service must expect to find them anyway.
  withoutEffect: [
    'BillingMode',
    'SSESpecification',
    'StreamSpecification',
    'TimeToLiveSpecification',
    'WarmThroughput',
    // Of AWS::DynamoDB::Table alone:
    'ContributorInsightsSpecification',
    'DeletionProtectionEnabled',
    'OnDemandThroughput',
    'PointInTimeRecoverySpecification',
    'ProvisionedThroughput',
    'TableClass',
    'Tags',
    // Of AWS::DynamoDB::GlobalTable alone. Only the replica in the stack's own region is served:
    'GlobalTableWitnesses',
    'MultiRegionConsistency',
    'ReadOnDemandThroughputSettings',
    'ReadProvisionedThroughputSettings',
    'WriteOnDemandThroughputSettings',
    'WriteProvisionedThroughputSettings',
  ],
  refused: {
    ImportSourceSpecification: 'the items to import are in S3',
    ResourcePolicy: 'only the policies of the functions are enforced here, not those of a table',
  },
} as const satisfies Properties;

/** The types that are served. A property that is on no list is refused. */
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
    refused: {
      Body: 'routes are read from AWS::ApiGatewayV2::Route, not from an OpenAPI document',
      BodyS3Location: 'routes are read from AWS::ApiGatewayV2::Route, not from an OpenAPI document',
      RouteKey: 'routes are read from AWS::ApiGatewayV2::Route, not from a quick create',
      Target: 'routes are read from AWS::ApiGatewayV2::Route, not from a quick create',
    },
  },
  'AWS::ApiGatewayV2::Route': {
    read: ['ApiId', 'AuthorizationType', 'AuthorizerId', 'RouteKey', 'Target'],
    // Only a JWT authorizer has scopes, and that is refused itself.
    withoutEffect: ['AuthorizationScopes', 'OperationName'],
  },
  'AWS::ApiGatewayV2::Integration': {
    read: ['ApiId', 'ConnectionType', 'IntegrationType', 'IntegrationUri', 'PayloadFormatVersion', 'TimeoutInMillis'],
    // A Lambda function is always invoked with POST.
    withoutEffect: ['Description', 'IntegrationMethod'],
    refused: {
      CredentialsArn: 'API Gateway may invoke a function here by an AWS::Lambda::Permission only, not by a role',
      RequestParameters: 'requests are not mapped here',
      ResponseParameters: 'responses are not mapped here',
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
    // A JWT authorizer is refused by its AuthorizerType.
    withoutEffect: ['JwtConfiguration', 'Name'],
    refused: {
      AuthorizerCredentialsArn:
        'API Gateway may invoke a function here by an AWS::Lambda::Permission only, not by a role',
    },
  },
  'AWS::ApiGatewayV2::Stage': {
    read: ['ApiId', 'AutoDeploy', 'DefaultRouteSettings', 'RouteSettings', 'StageName'],
    withoutEffect: ['AccessLogSettings', 'Description', 'Tags'],
    refused: { StageVariables: 'events have no stageVariables here' },
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
      // Read to refuse 0, with which AWS never runs the function. Other numbers limit AWS; this machine has its own limit.
      'ReservedConcurrentExecutions',
      'Role',
      'Runtime',
      'Timeout',
    ],
    // A dead-letter queue is for asynchronous invocations only; an HTTP API waits for each function.
    // The size of /tmp is a limit of AWS; this machine has its own.
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

/** The types that change nothing here, unless a resource that is served refers to one: that is refused. */
export const withoutEffect: ReadonlySet<string> = new Set([
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
  // Only alarms can send to a topic: a function cannot get its ARN, and other senders are refused.
  'AWS::SNS::Subscription',
  'AWS::SNS::Topic',
  'AWS::SNS::TopicPolicy',
]);

/**
 * The properties by which types without effect invoke functions; here, nothing would invoke them. Alarms and roll-outs
 * may refer to functions: a local run has neither.
 */
export const invokers: Record<string, string> = {
  'AWS::Cognito::UserPool': 'LambdaConfig',
  'AWS::SNS::Subscription': 'Endpoint',
  'AWS::SNS::Topic': 'Subscription',
};

export const onlyFromApi = 'functions get events from the HTTP API only';

export const invokeInstead = 'Leave it out of the template, and hand its events to the function with `invoke`.';

/** Why a type is refused, and what to do, for types that have more to say than `unknownType`. */
export const refusedTypes: Record<string, [reason: string, advice: string]> = {
  'AWS::ApiGateway::RestApi': ['only HTTP APIs are served', 'Use AWS::ApiGatewayV2::Api (in CDK: HttpApi).'],
  'AWS::Lambda::EventSourceMapping': [onlyFromApi, invokeInstead],
  'AWS::Lambda::LayerVersion': ['the files of a layer are not on this machine', 'Bundle them with each function.'],
  'AWS::Lambda::Url': [onlyFromApi, 'Add a route to the API instead.'],
};

export const unknownType: [reason: string, advice: string] = [
  'only HTTP APIs, Lambda functions and DynamoDB tables are served',
  'Leave it out of the template: put it into another stack, or let a context value of the app decide.',
];
