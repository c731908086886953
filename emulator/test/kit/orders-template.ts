// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the syntax of Fn::Sub
import type { Template } from '../../template/read-template.ts';

/** A hash as long as the hash that the CDK gives to an asset: 64 digits, all of them the same. */
export const assetHash = (digit: string): string => digit.repeat(64);

const policy = (...statements: object[]) => ({ Version: '2012-10-17', Statement: statements });

const lambdaMayAssume = policy({
  Effect: 'Allow',
  Action: 'sts:AssumeRole',
  Principal: { Service: { 'Fn::Sub': 'lambda.${AWS::URLSuffix}' } },
});

const managedPolicy = (name: string) => ({
  'Fn::Join': ['', ['arn:', { Ref: 'AWS::Partition' }, `:iam::aws:policy/${name}`]],
});

const permission = (FunctionName: unknown) => ({
  Type: 'AWS::Lambda::Permission',
  Properties: { Action: 'lambda:InvokeFunction', FunctionName, Principal: 'apigateway.amazonaws.com' },
});

const inApi = { ApiId: { Ref: 'Api' } };

/**
 * Makes the template of a small shop: two functions, an alias, two tables with indexes, an authorizer, CORS. Some parts
 * are written as the CDK generates them, and others as only people write them.
 * @param change receives the resources, and may change them
 */
export const ordersTemplate = (change: (resources: Record<string, ChangedResource>) => void = () => {}): Template => {
  const template = structuredClone(original);
  change(template.Resources);
  return template;
};

export type ChangedResource = { Type: string; Properties: Record<string, unknown>; Condition?: string };

const original = {
  Parameters: {
    Seconds: { Type: 'Number', Default: '7' },
    NoDefault: { Type: 'String' },
    FromSsm: { Type: 'AWS::SSM::Parameter::Value<String>', Default: '/shop/name' },
    Origins: { Type: 'CommaDelimitedList', Default: 'https://shop.example, https://www.shop.example' },
  },
  Conditions: { Always: { 'Fn::Equals': ['a', 'a'] } },
  Resources: {
    Orders: {
      Type: 'AWS::DynamoDB::Table',
      Properties: {
        KeySchema: [{ AttributeName: 'id', KeyType: 'HASH' }],
        AttributeDefinitions: [
          { AttributeName: 'id', AttributeType: 'S' },
          { AttributeName: 'day', AttributeType: 'N' },
        ],
        GlobalSecondaryIndexes: [
          {
            IndexName: 'byDay',
            KeySchema: [{ AttributeName: 'day', KeyType: 'HASH' }],
            Projection: { ProjectionType: 'INCLUDE', NonKeyAttributes: ['total'] },
            ProvisionedThroughput: { ReadCapacityUnits: 1, WriteCapacityUnits: 1 },
          },
        ],
        BillingMode: 'PAY_PER_REQUEST',
        StreamSpecification: { StreamViewType: 'NEW_IMAGE' },
        TimeToLiveSpecification: { AttributeName: 'expires', Enabled: true },
      },
    },
    Items: {
      Type: 'AWS::DynamoDB::GlobalTable',
      Properties: {
        TableName: 'items',
        KeySchema: [
          { AttributeName: 'order', KeyType: 'HASH' },
          { AttributeName: 'number', KeyType: 'RANGE' },
        ],
        AttributeDefinitions: [
          { AttributeName: 'order', AttributeType: 'S' },
          { AttributeName: 'number', AttributeType: 'N' },
          { AttributeName: 'price', AttributeType: 'N' },
        ],
        LocalSecondaryIndexes: [
          {
            IndexName: 'byPrice',
            KeySchema: [
              { AttributeName: 'order', KeyType: 'HASH' },
              { AttributeName: 'price', KeyType: 'RANGE' },
            ],
            Projection: { ProjectionType: 'ALL' },
          },
        ],
        Replicas: [{ Region: { Ref: 'AWS::Region' }, DeletionProtectionEnabled: true }, { Region: 'eu-west-3' }],
      },
    },
    ShopRole: {
      Type: 'AWS::IAM::Role',
      Properties: {
        AssumeRolePolicyDocument: lambdaMayAssume,
        ManagedPolicyArns: [managedPolicy('service-role/AWSLambdaBasicExecutionRole'), { Ref: 'ReadItems' }],
        Policies: [
          {
            PolicyName: 'Logs',
            PolicyDocument: policy({ Effect: 'Allow', Action: 'logs:*', Resource: { 'Fn::GetAtt': ['Logs', 'Arn'] } }),
          },
          { PolicyName: 'Never', PolicyDocument: policy({ Effect: 'Deny', Action: ['dynamodb:Scan'], Resource: '*' }) },
        ],
      },
    },
    ShopPolicy: {
      Type: 'AWS::IAM::Policy',
      Properties: {
        PolicyName: 'ShopPolicy',
        PolicyDocument: policy(
          { Effect: 'Allow', Action: 'xray:PutTraceSegments', Resource: '*', Condition: { Bool: {} } },
          {
            Sid: 'Orders',
            Effect: 'Allow',
            Action: ['dynamodb:GetItem', 'dynamodb:Query'],
            Resource: [
              { 'Fn::GetAtt': ['Orders', 'Arn'] },
              { 'Fn::Join': ['', [{ 'Fn::GetAtt': ['Orders', 'Arn'] }, '/index/*']] },
              { Ref: 'AWS::NoValue' },
            ],
          },
        ),
        Roles: [{ Ref: 'ShopRole' }],
      },
    },
    ReadItems: {
      Type: 'AWS::IAM::ManagedPolicy',
      Properties: {
        PolicyDocument: policy({
          Effect: 'Allow',
          Action: 'dynamodb:GetItem',
          Resource: { 'Fn::Sub': '${Items.Arn}' },
        }),
      },
    },
    GuardRole: {
      Type: 'AWS::IAM::Role',
      Properties: {
        AssumeRolePolicyDocument: lambdaMayAssume,
        RoleName: 'guard',
        ManagedPolicyArns: [managedPolicy('AWSXRayDaemonWriteAccess')],
      },
    },
    GuardRoleWrites: {
      Type: 'AWS::IAM::Policy',
      Properties: { PolicyDocument: policy({ Effect: 'Allow', Action: '*', Resource: '*' }), Roles: ['another-role'] },
    },
    Shop: {
      Type: 'AWS::Lambda::Function',
      Properties: {
        Code: { S3Bucket: { 'Fn::Sub': 'assets-${AWS::AccountId}' }, S3Key: `${assetHash('a')}.zip` },
        Environment: {
          Variables: {
            ORDERS: { Ref: 'Orders' },
            ITEMS_ARN: { 'Fn::GetAtt': 'Items.Arn' },
            GREETING: { 'Fn::Sub': ['${Word} from ${Orders} in ${AWS::Region}, ${!Name}', { Word: 'Hello' }] },
            PART: { 'Fn::Select': [1, { 'Fn::Split': ['-', 'a-b-c'] }] },
            GUARD: { Ref: 'Guard' },
            SIZE: 3,
            NOTHING: { Ref: 'AWS::NoValue' },
          },
        },
        Handler: 'index.handler',
        MemorySize: 256,
        Role: { 'Fn::GetAtt': ['ShopRole', 'Arn'] },
        Runtime: 'nodejs24.x',
        Timeout: { Ref: 'Seconds' },
        LoggingConfig: { LogGroup: { Ref: 'Logs' } },
      },
    },
    ShopVersion: { Type: 'AWS::Lambda::Version', Properties: { FunctionName: { Ref: 'Shop' } } },
    ShopLive: {
      Type: 'AWS::Lambda::Alias',
      Properties: {
        FunctionName: { 'Fn::GetAtt': ['Shop', 'Arn'] },
        FunctionVersion: { 'Fn::GetAtt': ['ShopVersion', 'Version'] },
        Name: 'live',
      },
    },
    ShopPermission: permission({ Ref: 'ShopLive' }),
    Guard: {
      Type: 'AWS::Lambda::Function',
      Properties: {
        Code: { S3Bucket: 'assets', S3Key: `assets/${assetHash('b')}.zip` },
        FunctionName: 'the-guard',
        Handler: 'guard.check',
        Role: { 'Fn::GetAtt': ['GuardRole', 'Arn'] },
        Runtime: 'nodejs22.x',
        LoggingConfig: { LogFormat: 'JSON', ApplicationLogLevel: 'WARN', LogGroup: { Ref: 'Logs' } },
      },
    },
    GuardPermission: permission({ Ref: 'Guard' }),
    Api: {
      Type: 'AWS::ApiGatewayV2::Api',
      Properties: {
        Name: 'shop',
        ProtocolType: 'HTTP',
        CorsConfiguration: {
          AllowCredentials: true,
          AllowHeaders: ['content-type'],
          AllowMethods: ['GET', 'POST'],
          AllowOrigins: { Ref: 'Origins' },
          MaxAge: 600,
        },
      },
    },
    Stage: {
      Type: 'AWS::ApiGatewayV2::Stage',
      Properties: {
        ...inApi,
        AutoDeploy: true,
        StageName: '$default',
        AccessLogSettings: { DestinationArn: { 'Fn::GetAtt': ['Logs', 'Arn'] } },
      },
    },
    ShopIntegration: {
      Type: 'AWS::ApiGatewayV2::Integration',
      Properties: {
        ...inApi,
        IntegrationType: 'AWS_PROXY',
        IntegrationUri: { Ref: 'ShopLive' },
        PayloadFormatVersion: '2.0',
        TimeoutInMillis: 9_000,
      },
    },
    GuardAuthorizer: {
      Type: 'AWS::ApiGatewayV2::Authorizer',
      Properties: {
        ...inApi,
        AuthorizerPayloadFormatVersion: '2.0',
        AuthorizerResultTtlInSeconds: 0,
        AuthorizerType: 'REQUEST',
        AuthorizerUri: {
          'Fn::Sub':
            'arn:${AWS::Partition}:apigateway:${AWS::Region}:lambda:path/2015-03-31/functions/${Guard.Arn}/invocations',
        },
        EnableSimpleResponses: true,
        IdentitySource: ['$request.header.Authorization', '$request.querystring.shop'],
      },
    },
    GetOrder: {
      Type: 'AWS::ApiGatewayV2::Route',
      Properties: {
        ...inApi,
        AuthorizationType: 'CUSTOM',
        AuthorizerId: { Ref: 'GuardAuthorizer' },
        RouteKey: 'GET /orders/{id}',
        Target: { 'Fn::Join': ['/', ['integrations', { Ref: 'ShopIntegration' }]] },
      },
    },
    AnyPage: {
      Type: 'AWS::ApiGatewayV2::Route',
      Properties: { ...inApi, RouteKey: 'ANY /{proxy+}', Target: { 'Fn::Sub': 'integrations/${ShopIntegration}' } },
    },
    Logs: { Type: 'AWS::Logs::LogGroup', Properties: { RetentionInDays: 7 } },
    Alarms: { Type: 'AWS::SNS::Topic', Properties: {} },
    Pool: { Type: 'AWS::Cognito::UserPool', Properties: {} },
    Metadata: { Type: 'AWS::CDK::Metadata', Condition: 'Always', Properties: { Analytics: 'v2' } },
  } as Record<string, ChangedResource>,
};
