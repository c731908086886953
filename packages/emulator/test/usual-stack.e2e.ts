/** Serves a stack with what CDK apps usually have beside an HTTP API. */
import path from 'node:path';
import { App, CustomResource, RemovalPolicy, Stack } from 'aws-cdk-lib';
import { HttpApi, HttpMethod } from 'aws-cdk-lib/aws-apigatewayv2';
import { HttpIamAuthorizer } from 'aws-cdk-lib/aws-apigatewayv2-authorizers';
import { HttpLambdaIntegration } from 'aws-cdk-lib/aws-apigatewayv2-integrations';
import { AttributeType, Table } from 'aws-cdk-lib/aws-dynamodb';
import { EventBus } from 'aws-cdk-lib/aws-events';
import { ManagedPolicy, PermissionsBoundary, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { Key } from 'aws-cdk-lib/aws-kms';
import { Code, Function as LambdaFunction, Runtime } from 'aws-cdk-lib/aws-lambda';
import { SqsEventSource } from 'aws-cdk-lib/aws-lambda-event-sources';
import { RetentionDays } from 'aws-cdk-lib/aws-logs';
import { Bucket, EventType } from 'aws-cdk-lib/aws-s3';
import { LambdaDestination } from 'aws-cdk-lib/aws-s3-notifications';
import { Secret } from 'aws-cdk-lib/aws-secretsmanager';
import { Queue } from 'aws-cdk-lib/aws-sqs';
import { Provider } from 'aws-cdk-lib/custom-resources';
import { expect, onTestFinished, test } from 'vitest';
import { serve } from '../serve.ts';
import { temporaryFolder } from './kit/temporary.ts';

const code = Code.fromAsset(path.join(import.meta.dirname, 'kit/orders-functions'));

const makeApp = (outdir: string): App => {
  const app = new App({ outdir });
  const stack = new Stack(app, 'Shop', { env: { account: '123456789012', region: 'eu-west-1' } });
  const limits = new PolicyStatement({ actions: ['dynamodb:*', 'sqs:*'], resources: ['*'] });
  PermissionsBoundary.of(stack).apply(new ManagedPolicy(stack, 'Boundary', { statements: [limits] }));
  const makeFunction = (id: string, props: Partial<ConstructorParameters<typeof LambdaFunction>[2]> = {}) =>
    new LambdaFunction(stack, id, { runtime: Runtime.NODEJS_24_X, handler: `index.${id}`, code, ...props });

  const encryptionKey = new Key(stack, 'Key');
  const partitionKey = { name: 'id', type: AttributeType.STRING };
  new Table(stack, 'Table', { tableName: 'orders', partitionKey, encryptionKey });
  const queue = new Queue(stack, 'Jobs');
  const bus = new EventBus(stack, 'Bus');
  const bucket = new Bucket(stack, 'Bucket', { autoDeleteObjects: true, removalPolicy: RemovalPolicy.DESTROY });
  const secret = new Secret(stack, 'Secret');
  const orders = makeFunction('orders', {
    logRetention: RetentionDays.ONE_WEEK,
    environment: {
      ORDERS: 'orders',
      QUEUE: queue.queueUrl,
      BUS: bus.eventBusName,
      BUCKET: bucket.bucketName,
      SECRET: secret.secretArn,
    },
  });
  orders.addToRolePolicy(
    new PolicyStatement({
      actions: ['dynamodb:PutItem'],
      resources: ['arn:aws:dynamodb:eu-west-1:123456789012:table/orders'],
    }),
  );
  queue.grantSendMessages(orders);
  const worker = makeFunction('worker', { handler: 'index.admin' });
  worker.addEventSource(new SqsEventSource(queue));
  bucket.addEventNotification(EventType.OBJECT_CREATED, new LambdaDestination(worker));
  // This function has no code here, so it must not be loaded.
  const { serviceToken } = new Provider(stack, 'Provider', { onEventHandler: makeFunction('onEvent') });
  new CustomResource(stack, 'Seed', { serviceToken });

  const api = new HttpApi(stack, 'Api');
  const integration = new HttpLambdaIntegration('ToOrders', orders);
  api.addRoutes({ path: '/orders/{id}', methods: [HttpMethod.PUT], integration });
  api.addRoutes({ path: '/iam', methods: [HttpMethod.GET], integration, authorizer: new HttpIamAuthorizer() });
  return app;
};

test('with leaveOut, the emulator serves a stack with queues, custom resources and the like, and lists what it leaves out', async () => {
  const folder = await temporaryFolder();
  const options = { app: makeApp(`${folder}/cdk.out`), store: { folder: `${folder}/data` } };
  await expect(serve(options)).rejects.toThrow(
    /QUEUE refers to Jobs.*\n.*pass the option `leaveOut: true`, or --leave-out to the command\.$/s,
  );

  const emulator = await serve({ ...options, leaveOut: true });
  onTestFinished(emulator.close);
  const put = await fetch(`${emulator.url}/orders/1`, {
    method: 'PUT',
    headers: { 'content-type': 'a/b' },
    body: 'ann',
  });
  expect(put.status).toBe(204);
  const iam = await fetch(`${emulator.url}/iam`);
  expect([iam.status, await iam.text()]).toEqual([501, expect.stringContaining('its AuthorizationType is')]);

  const short = (name: string) => name.replace(/[\dA-F]{8}(?= |$)/, '');
  expect(emulator.functionNames.map(short)).toEqual(['orders', 'worker']);
  expect(emulator.withoutEffect.map(short)).toEqual(
    expect.arrayContaining([
      'Key (AWS::KMS::Key)',
      'ordersLogRetention (Custom::LogRetention)',
      'onEvent (AWS::Lambda::Function)',
      'Seed (AWS::CloudFormation::CustomResource)',
    ]),
  );
  const leftOut = emulator.leftOut.map(({ resource }) => short(resource));
  expect(leftOut).toEqual(
    expect.arrayContaining([
      'Jobs (AWS::SQS::Queue)',
      'Bucket (AWS::S3::Bucket)',
      'BucketNotifications (Custom::S3BucketNotifications)',
      'Environment.Variables.QUEUE of orders (AWS::Lambda::Function)',
    ]),
  );
});
