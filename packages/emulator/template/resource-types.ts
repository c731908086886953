/** The resource types that the emulator serves, each with its lists of properties. */
import type { NamesIn } from './template.ts';

export type PropertyLists = {
  /** The names, separated by white space, of the properties that the emulator reads. */
  read: string;
  /** The names of those that are ignored, because they make no difference to requests, functions or the store here. */
  withoutEffect: string;
  /**
   * The reasons why some properties of a resource are refused. A property that is in none of the lists `read`,
   * `withoutEffect` and `refused` is refused, too.
   */
  refused?: Record<string, string>;
};

const onlyByPermission = 'API Gateway may invoke a function here by an AWS::Lambda::Permission only, not by a role';

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
  refused: {
    ImportSourceSpecification: 'the items to import are in S3, which is not emulated',
    ResourcePolicy: "only the policies of the functions' roles are enforced here, not those of tables",
  },
} as const;

export const tableTypes = {
  'AWS::DynamoDB::Table': table,
  'AWS::DynamoDB::GlobalTable': { ...table, read: `${table.read} Replicas` },
} as const satisfies Record<string, PropertyLists>;

/** Each served type with its lists of properties. A property that is on none of the lists is refused. */
export const served = {
  'AWS::ApiGatewayV2::Api': {
    read: 'CorsConfiguration ProtocolType',
    withoutEffect: `
      Description DisableExecuteApiEndpoint DisableSchemaValidation FailOnWarnings IpAddressType Name
      RouteSelectionExpression Tags Version`,
    refused: { Body: 'routes are read from AWS::ApiGatewayV2::Route, not from an OpenAPI document' },
  },
  'AWS::ApiGatewayV2::Route': {
    read: 'ApiId AuthorizationScopes AuthorizationType AuthorizerId RouteKey Target',
    withoutEffect: 'OperationName',
  },
  'AWS::ApiGatewayV2::Integration': {
    read: 'ApiId ConnectionType IntegrationType IntegrationUri PayloadFormatVersion TimeoutInMillis',
    // IntegrationMethod has no effect, because API Gateway always invokes a Lambda function with POST.
    withoutEffect: 'Description IntegrationMethod',
    refused: {
      CredentialsArn: onlyByPermission,
      RequestParameters: 'parameter mapping of requests is not emulated',
      ResponseParameters: 'parameter mapping of responses is not emulated',
    },
  },
  'AWS::ApiGatewayV2::Stage': {
    read: 'ApiId AutoDeploy StageName',
    withoutEffect: 'AccessLogSettings DefaultRouteSettings Description RouteSettings Tags',
    refused: { StageVariables: 'events have no stageVariables here' },
  },
  // On AWS, a domain name gives the API another address. It has no effect here, because the API is served on this
  // machine.
  'AWS::ApiGatewayV2::DomainName': {
    read: '',
    withoutEffect: 'DomainName DomainNameConfigurations Tags',
    refused: { MutualTlsAuthentication: 'clients need no certificate here' },
  },
  'AWS::ApiGatewayV2::ApiMapping': {
    read: 'ApiId',
    withoutEffect: 'DomainName Stage',
    refused: { ApiMappingKey: 'the paths of requests have no such prefix here' },
  },
  'AWS::ApiGatewayV2::Authorizer': {
    read: `
      ApiId AuthorizerPayloadFormatVersion AuthorizerResultTtlInSeconds AuthorizerType AuthorizerUri
      EnableSimpleResponses IdentitySource JwtConfiguration`,
    withoutEffect: 'Name',
    refused: { AuthorizerCredentialsArn: onlyByPermission },
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
    refused: {
      FileSystemConfigs: 'this machine does not have that file system',
      ImageConfig: 'container images do not run here',
    },
  },
  'AWS::Lambda::Version': {
    read: 'FunctionName',
    withoutEffect: 'CodeSha256 Description ProvisionedConcurrencyConfig RuntimePolicy',
  },
  'AWS::Lambda::Alias': {
    read: 'FunctionName FunctionVersion Name',
    withoutEffect: 'Description ProvisionedConcurrencyConfig',
    refused: { RoutingConfig: 'the template has the code of one version only' },
  },
  'AWS::Lambda::LayerVersion': {
    read: 'Content',
    withoutEffect: 'CompatibleArchitectures CompatibleRuntimes Description LayerName LicenseInfo',
  },
  'AWS::Lambda::Permission': {
    read: 'Action FunctionName Principal',
    withoutEffect: 'EventSourceToken FunctionUrlAuthType InvokedViaFunctionUrl PrincipalOrgID SourceAccount SourceArn',
  },
  'AWS::IAM::Role': {
    read: 'AssumeRolePolicyDocument ManagedPolicyArns PermissionsBoundary Policies RoleName',
    withoutEffect: 'Description MaxSessionDuration Path Tags',
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
