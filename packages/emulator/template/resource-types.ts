/** The resource types that the emulator serves, each with its lists of properties. */
import type { NamesIn } from './template.ts';

export type PropertyLists = {
  /** The names, separated by white space, of the properties that the emulator reads. */
  read: string;
  /** The names of those that are ignored, because they make no difference to requests, functions or the store here. */
  withoutEffect: string;
};

const table = {
  read: 'TableName KeySchema AttributeDefinitions GlobalSecondaryIndexes LocalSecondaryIndexes',
  // StreamSpecification is ignored: nothing can read the stream, since event sources and the stream's ARN are refused.
  // TimeToLiveSpecification is ignored: DynamoDB may keep expired items for days, so services must expect such items.
  // Only AWS::DynamoDB::Table has those of the second and third line. Only AWS::DynamoDB::GlobalTable has those of the
  // last three: the emulator has no replicas in other regions, and does not limit throughput.
  withoutEffect: `
    BillingMode KinesisStreamSpecification SSESpecification StreamSpecification TimeToLiveSpecification WarmThroughput
    ContributorInsightsSpecification DeletionProtectionEnabled OnDemandThroughput PointInTimeRecoverySpecification
    ProvisionedThroughput TableClass Tags
    GlobalTableWitnesses MultiRegionConsistency
    ReadOnDemandThroughputSettings ReadProvisionedThroughputSettings
    WriteOnDemandThroughputSettings WriteProvisionedThroughputSettings`,
} as const;

export const tableTypes = {
  'AWS::DynamoDB::Table': table,
  'AWS::DynamoDB::GlobalTable': { ...table, read: `${table.read} Replicas` },
} as const satisfies Record<string, PropertyLists>;

/** Each served type with its lists of properties. A property that is on neither list is refused. */
export const served = {
  'AWS::ApiGatewayV2::Api': {
    read: 'CorsConfiguration ProtocolType',
    withoutEffect: `
      Description DisableExecuteApiEndpoint DisableSchemaValidation FailOnWarnings IpAddressType Name
      RouteSelectionExpression Tags Version`,
  },
  'AWS::ApiGatewayV2::Route': {
    read: 'ApiId AuthorizationScopes AuthorizationType AuthorizerId RouteKey Target',
    withoutEffect: 'OperationName',
  },
  'AWS::ApiGatewayV2::Integration': {
    read: 'ApiId ConnectionType IntegrationType IntegrationUri PayloadFormatVersion TimeoutInMillis',
    // IntegrationMethod has no effect, because API Gateway always invokes a Lambda function with POST.
    withoutEffect: 'Description IntegrationMethod',
  },
  'AWS::ApiGatewayV2::Stage': {
    read: 'ApiId AutoDeploy StageName',
    withoutEffect: 'AccessLogSettings DefaultRouteSettings Description RouteSettings Tags',
  },
  // On AWS, a domain name gives the API another address. It has no effect here, because the API is served on this
  // machine.
  'AWS::ApiGatewayV2::DomainName': {
    read: '',
    withoutEffect: 'DomainName DomainNameConfigurations Tags',
  },
  'AWS::ApiGatewayV2::ApiMapping': {
    read: 'ApiId',
    withoutEffect: 'DomainName Stage',
  },
  'AWS::ApiGatewayV2::Authorizer': {
    read: `
      ApiId AuthorizerPayloadFormatVersion AuthorizerResultTtlInSeconds AuthorizerType AuthorizerUri
      EnableSimpleResponses IdentitySource JwtConfiguration`,
    withoutEffect: 'Name',
  },
  'AWS::Lambda::Function': {
    read: `
      Code Environment FunctionName Handler Layers LoggingConfig MemorySize PackageType ReservedConcurrentExecutions
      Role Runtime Timeout VpcConfig`,
    // DeadLetterConfig is only for asynchronous invocations; an HTTP API invokes functions synchronously.
    // EphemeralStorage is the size of /tmp on Lambda; here, functions use this machine's /tmp.
    withoutEffect: `
      Architectures CodeSigningConfigArn DeadLetterConfig Description EphemeralStorage KmsKeyArn RecursiveLoop
      RuntimeManagementConfig Tags TracingConfig`,
  },
  'AWS::Lambda::Version': {
    read: 'FunctionName',
    withoutEffect: 'CodeSha256 Description ProvisionedConcurrencyConfig RuntimePolicy',
  },
  'AWS::Lambda::Alias': {
    read: 'FunctionName FunctionVersion Name',
    withoutEffect: 'Description ProvisionedConcurrencyConfig',
  },
  'AWS::Lambda::Permission': {
    read: 'Action FunctionName Principal',
    withoutEffect: 'EventSourceToken FunctionUrlAuthType InvokedViaFunctionUrl PrincipalOrgID SourceAccount SourceArn',
  },
  'AWS::IAM::Role': {
    read: 'ManagedPolicyArns PermissionsBoundary Policies RoleName',
    withoutEffect: 'AssumeRolePolicyDocument Description MaxSessionDuration Path Tags',
  },
  'AWS::IAM::Policy': { read: 'PolicyDocument Roles', withoutEffect: 'Groups PolicyName Users' },
  'AWS::IAM::ManagedPolicy': {
    read: 'PolicyDocument Roles',
    withoutEffect: 'Description Groups ManagedPolicyName Path Users',
  },
  ...tableTypes,
} as const satisfies Record<string, PropertyLists>;

export type ServedType = keyof typeof served;
export type ReadProperty<T extends ServedType> = NamesIn<(typeof served)[T]['read']>;
