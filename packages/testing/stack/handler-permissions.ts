/**
 * The actions that CloudFormation's handlers for each resource type call, and the resources on which IAM checks them.
 * Most rows are the `handlers` in the type's schema, read in November 2026 in the copies of
 * https://github.com/pulumi/pulumi-aws-native/tree/master/aws-cloudformation-schema. AWS shows today's schema with
 * `aws cloudformation describe-type --type RESOURCE --query Schema --output text --type-name <type>`. Its Service
 * Authorization Reference shows the resources of an action. Left out are the handler `list`, which deployments do not
 * call, and what only properties need that the stacks do not set.
 */

/** For each resource: a service, and the actions on that resource. `{name}` stands for the name of a resource. */
type Needs = Readonly<Record<string, string>>;

const own = (service: string, resource: string): string => `arn:aws:${service}:REGION:ACCOUNT:${resource}`;
const api = 'arn:aws:apigateway:REGION::/apis/ID/PART';
const domain = 'arn:aws:apigateway:REGION::/domainnames/ID';
const tags = 'arn:aws:apigateway:REGION::/tags/ID';
const verbs = 'apigateway DELETE GET PATCH POST PUT';
const tagging = `${verbs} TagResource UntagResource`;
const fn = own('lambda', 'function:{name}');
const deploymentGroup = own('codedeploy', 'deploymentgroup:{name}/{name}');
const deploymentConfig = own('codedeploy', 'deploymentconfig:CodeDeployDefault.LambdaAllAtOnce');
const group = own('logs', 'log-group:{name}');
const mapping = own('lambda', 'event-source-mapping:ID');
const pool = own('cognito-idp', 'userpool/ID');
const queue = own('sqs', '{name}');
const table = own('dynamodb', 'table/{name}');
const topic = own('sns', '{name}');
const role = 'arn:aws:iam::ACCOUNT:role{path}{name}';
const key = own('kms', 'key/ID');
const zone = 'arn:aws:route53:::hostedzone/ID';

/** For each type whose templates may give a resource its name: the property. CloudFormation makes up other names. */
export const names: Readonly<Record<string, string>> = {
  'AWS::Budgets::Budget': 'Budget.BudgetName',
  'AWS::CloudWatch::Alarm': 'AlarmName',
  'AWS::CloudWatch::CompositeAlarm': 'AlarmName',
  'AWS::CloudWatch::Dashboard': 'DashboardName',
  'AWS::CodeDeploy::Application': 'ApplicationName',
  'AWS::DynamoDB::GlobalTable': 'TableName',
  'AWS::Events::Rule': 'Name',
  'AWS::IAM::Role': 'RoleName',
  'AWS::Lambda::Function': 'FunctionName',
  'AWS::Logs::LogGroup': 'LogGroupName',
  'AWS::SNS::Topic': 'TopicName',
  'AWS::SQS::Queue': 'QueueName',
  'AWS::Scheduler::Schedule': 'Name',
};

export type Handlers = Readonly<Record<string, Needs>>;

export const handlers: Handlers = {
  'AWS::ApiGatewayV2::Api': {
    'arn:aws:apigateway:REGION::/apis': verbs,
    [api]: verbs,
    [tags]: tagging,
  },
  'AWS::ApiGatewayV2::ApiMapping': { [`${domain}/apimappings`]: verbs },
  'AWS::ApiGatewayV2::Authorizer': { [api]: verbs },
  'AWS::ApiGatewayV2::DomainName': {
    'arn:aws:apigateway:REGION::/domainnames': verbs,
    [domain]: verbs,
    [tags]: tagging,
    // https://docs.aws.amazon.com/apigateway/latest/developerguide/using-service-linked-roles.html
    'arn:aws:iam::ACCOUNT:role/aws-service-role/ops.apigateway.amazonaws.com/AWSServiceRoleForAPIGateway':
      'iam CreateServiceLinkedRole',
  },
  'AWS::ApiGatewayV2::Integration': { [api]: verbs },
  'AWS::ApiGatewayV2::Route': { [api]: verbs },
  // The registry has no handlers. For the access log:
  // https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-logging.html
  'AWS::ApiGatewayV2::Stage': {
    [api]: verbs,
    [tags]: tagging,
    '*':
      'logs CreateLogDelivery DeleteLogDelivery DescribeLogGroups DescribeResourcePolicies GetLogDelivery ' +
      'ListLogDeliveries PutResourcePolicy UpdateLogDelivery',
  },
  // The registry has no handlers. Without a name that begins with the stack's, add the name that CloudFormation makes
  // up.
  'AWS::Budgets::Budget': {
    'arn:aws:budgets::ACCOUNT:budget/{name}': 'budgets ListTagsForResource ModifyBudget TagResource ViewBudget',
  },
  'AWS::CloudWatch::Alarm': {
    [own('cloudwatch', 'alarm:{name}')]:
      'cloudwatch DeleteAlarms ListTagsForResource PutMetricAlarm TagResource UntagResource',
    '*': 'cloudwatch DescribeAlarms',
  },
  'AWS::CloudWatch::CompositeAlarm': {
    [own('cloudwatch', 'alarm:{name}')]: 'cloudwatch DeleteAlarms ListTagsForResource TagResource UntagResource',
    // https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_PutCompositeAlarm.html
    '*': 'cloudwatch DescribeAlarms PutCompositeAlarm',
  },
  'AWS::CloudWatch::Dashboard': {
    'arn:aws:cloudwatch::ACCOUNT:dashboard/{name}': 'cloudwatch DeleteDashboards GetDashboard PutDashboard',
  },
  'AWS::CodeDeploy::Application': {
    [own('codedeploy', 'application:{name}')]:
      'codedeploy CreateApplication DeleteApplication GetApplication ListTagsForResource TagResource UntagResource',
  },
  // The registry has no handlers.
  'AWS::CodeDeploy::DeploymentGroup': {
    [deploymentGroup]:
      'codedeploy CreateDeploymentGroup DeleteDeploymentGroup GetDeploymentGroup ListTagsForResource TagResource ' +
      'UntagResource UpdateDeploymentGroup',
    [deploymentConfig]: 'codedeploy GetDeploymentConfig',
    'arn:aws:iam::ACCOUNT:role/{name}': 'iam PassRole',
  },
  'AWS::Cognito::UserPool': {
    '*': 'cognito-idp CreateUserPool',
    [pool]:
      'cognito-idp AddCustomAttributes DeleteUserPool DescribeUserPool GetUserPoolMfaConfig ListTagsForResource ' +
      'SetUserPoolMfaConfig TagResource UntagResource UpdateUserPool',
  },
  'AWS::Cognito::UserPoolClient': {
    [pool]:
      'cognito-idp CreateUserPoolClient DeleteUserPoolClient DescribeUserPoolClient ListUserPoolClientSecrets ' +
      'UpdateUserPoolClient',
  },
  // The registry has no handlers.
  'AWS::Cognito::UserPoolDomain': {
    [pool]: 'cognito-idp CreateUserPoolDomain DeleteUserPoolDomain UpdateUserPoolDomain',
    '*': 'cognito-idp DescribeUserPoolDomain',
  },
  'AWS::Cognito::UserPoolResourceServer': {
    [pool]: 'cognito-idp CreateResourceServer DeleteResourceServer DescribeResourceServer UpdateResourceServer',
  },
  // Replicas in other regions also need iam:CreateServiceLinkedRole.
  'AWS::DynamoDB::GlobalTable': {
    [table]:
      'dynamodb BatchWriteItem CreateTable CreateTableReplica DeleteItem DeleteResourcePolicy DeleteTable ' +
      'DeleteTableReplica Describe* GetItem GetResourcePolicy ListTagsOfResource PutItem PutResourcePolicy Query Scan ' +
      'TagResource UntagResource UpdateContinuousBackups UpdateContributorInsights UpdateItem UpdateTable ' +
      'UpdateTableReplicaAutoScaling UpdateTimeToLive',
    '*': 'cloudwatch PutMetricData, application-autoscaling Describe*',
    [key]: 'kms DescribeKey',
  },
  // The registry has no handlers.
  'AWS::Events::Rule': {
    [own('events', 'rule/{name}')]:
      'events DeleteRule DescribeRule DisableRule EnableRule ListTagsForResource ListTargetsByRule PutRule PutTargets ' +
      'RemoveTargets TagResource UntagResource',
  },
  'AWS::IAM::Policy': {
    'arn:aws:iam::ACCOUNT:role/{name}': 'iam DeleteRolePolicy GetRolePolicy PutRolePolicy',
  },
  // DeleteRolePermissionsBoundary is left out on purpose: it would free a role from its boundary.
  'AWS::IAM::Role': {
    [role]:
      'iam CreateRole DeleteRole DeleteRolePolicy GetRole GetRolePolicy ListAttachedRolePolicies ListRolePolicies ' +
      'PutRolePermissionsBoundary PutRolePolicy TagRole UntagRole UpdateAssumeRolePolicy UpdateRole ' +
      'UpdateRoleDescription',
  },
  'AWS::KMS::Key': {
    '*': 'kms CreateKey',
    [key]:
      'kms DescribeKey DisableKey DisableKeyRotation EnableKey EnableKeyRotation GetKeyPolicy GetKeyRotationStatus ' +
      'ListResourceTags PutKeyPolicy ScheduleKeyDeletion TagResource UntagResource UpdateKeyDescription',
  },
  'AWS::Lambda::Alias': {
    [`${fn}:ALIAS`]:
      'lambda CreateAlias DeleteAlias DeleteProvisionedConcurrencyConfig GetAlias GetProvisionedConcurrencyConfig ' +
      'PutProvisionedConcurrencyConfig UpdateAlias',
    [deploymentGroup]: 'codedeploy CreateDeployment GetDeployment GetDeploymentGroup',
    [deploymentConfig]: 'codedeploy GetDeploymentConfig',
    '*': 'codedeploy StopDeployment',
  },
  'AWS::Lambda::EventSourceMapping': {
    // https://docs.aws.amazon.com/lambda/latest/dg/lambda-api-permissions-ref.html
    '*': 'lambda CreateEventSourceMapping',
    [mapping]:
      'lambda DeleteEventSourceMapping GetEventSourceMapping ListTags TagResource UntagResource ' +
      'UpdateEventSourceMapping',
  },
  'AWS::Lambda::Function': {
    [fn]:
      'lambda CreateFunction DeleteFunction DeleteFunctionCodeSigningConfig DeleteFunctionConcurrency GetFunction ' +
      'GetFunctionCodeSigningConfig GetFunctionRecursionConfig GetRuntimeManagementConfig ListTags ' +
      'PutFunctionCodeSigningConfig PutFunctionConcurrency PutFunctionRecursionConfig PutRuntimeManagementConfig ' +
      'TagResource UntagResource UpdateFunctionCode UpdateFunctionConfiguration',
    'arn:aws:iam::ACCOUNT:role/{name}': 'iam PassRole',
    'arn:aws:s3:::cdk-hnb659fds-assets-ACCOUNT-REGION/KEY.zip': 's3 GetObject',
  },
  'AWS::Lambda::Permission': { [fn]: 'lambda AddPermission GetPolicy RemovePermission' },
  'AWS::Lambda::Version': {
    [`${fn}:1`]:
      'lambda DeleteFunction GetFunctionConfiguration GetProvisionedConcurrencyConfig GetRuntimeManagementConfig ' +
      'PublishVersion PutProvisionedConcurrencyConfig PutRuntimeManagementConfig',
  },
  'AWS::Logs::LogGroup': {
    [group]:
      'logs AssociateKmsKey CreateLogGroup DeleteDataProtectionPolicy DeleteLogGroup DeleteRetentionPolicy ' +
      'DisassociateKmsKey GetDataProtectionPolicy ListTagsForResource PutDataProtectionPolicy PutRetentionPolicy ' +
      'TagResource UntagResource',
    '*': 'logs CreateLogDelivery DescribeLogGroups DescribeResourcePolicies PutResourcePolicy',
  },
  'AWS::Logs::MetricFilter': {
    [group]: 'logs DeleteMetricFilter DescribeMetricFilters PutMetricFilter',
  },
  // The policy allows only records of the type A.
  'AWS::Route53::RecordSet': {
    [zone]: 'route53 ChangeResourceRecordSets GetHostedZone ListResourceRecordSets',
    'arn:aws:route53:::change/ID': 'route53 GetChange',
    '*': 'route53 ListHostedZones',
  },
  // The schema has no handlers. These are from https://github.com/aws-cloudformation/aws-cloudformation-resource-providers-sns.
  'AWS::SNS::Subscription': {
    [topic]: 'sns GetTopicAttributes ListSubscriptionsByTopic Subscribe',
    '*': 'sns GetSubscriptionAttributes SetSubscriptionAttributes Unsubscribe',
  },
  'AWS::SNS::Topic': {
    [topic]:
      'sns CreateTopic DeleteTopic GetDataProtectionPolicy GetTopicAttributes ListSubscriptionsByTopic ' +
      'ListTagsForResource PutDataProtectionPolicy SetTopicAttributes Subscribe TagResource UntagResource',
    '*': 'sns Unsubscribe',
  },
  'AWS::SNS::TopicPolicy': { [topic]: 'sns SetTopicAttributes' },
  'AWS::SQS::Queue': {
    [queue]:
      'sqs CreateQueue DeleteQueue GetQueueAttributes GetQueueUrl ListQueueTags SetQueueAttributes TagQueue UntagQueue',
  },
  'AWS::SQS::QueuePolicy': { [queue]: 'sqs SetQueueAttributes' },
  'AWS::Scheduler::Schedule': {
    [own('scheduler', 'schedule/default/{name}')]: 'scheduler CreateSchedule DeleteSchedule GetSchedule UpdateSchedule',
    'arn:aws:iam::ACCOUNT:role/{name}': 'iam PassRole',
  },
};
