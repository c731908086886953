/** Serves a stack that the CDK synthesizes, with what CDK apps usually have beside an HTTP API. */
import { generateKeyPairSync } from 'node:crypto';
import path from 'node:path';
import { App, CustomResource, RemovalPolicy, Stack } from 'aws-cdk-lib';
import { HttpApi, HttpMethod } from 'aws-cdk-lib/aws-apigatewayv2';
import {
  HttpIamAuthorizer,
  HttpLambdaAuthorizer,
  HttpUserPoolAuthorizer,
} from 'aws-cdk-lib/aws-apigatewayv2-authorizers';
import { HttpLambdaIntegration } from 'aws-cdk-lib/aws-apigatewayv2-integrations';
import { UserPool } from 'aws-cdk-lib/aws-cognito';
import { AttributeType, TableV2 } from 'aws-cdk-lib/aws-dynamodb';
import { EventBus } from 'aws-cdk-lib/aws-events';
import { ManagedPolicy, PermissionsBoundary, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { Key } from 'aws-cdk-lib/aws-kms';
import { Code, type FunctionProps, Function as LambdaFunction, Runtime } from 'aws-cdk-lib/aws-lambda';
import { SqsEventSource } from 'aws-cdk-lib/aws-lambda-event-sources';
import { RetentionDays } from 'aws-cdk-lib/aws-logs';
import { Bucket, EventType } from 'aws-cdk-lib/aws-s3';
import { LambdaDestination } from 'aws-cdk-lib/aws-s3-notifications';
import { Secret } from 'aws-cdk-lib/aws-secretsmanager';
import { Queue } from 'aws-cdk-lib/aws-sqs';
import { Provider } from 'aws-cdk-lib/custom-resources';
import { exportJWK, SignJWT } from 'jose';
import { expect, onTestFinished, test } from 'vitest';
import { type ServeOptions, serve } from '../serve.ts';
import { temporaryFolder } from './kit/temporary.ts';

const { GET, POST, PUT } = HttpMethod;

/** An app with four functions, two authorizers for a path each, and a table with an index. */
const makeApp = (outdir: string) => {
  const app = new App({ outdir });
  const stack = new Stack(app, 'Orders', { env: { account: '123456789012', region: 'eu-west-1' } });
  const table = new TableV2(stack, 'Table', { partitionKey: { name: 'id', type: AttributeType.STRING } });
  const customer = { name: 'customer', type: AttributeType.STRING };
  table.addGlobalSecondaryIndex({ indexName: 'by-customer', partitionKey: customer });

  const code = Code.fromAsset(path.join(import.meta.dirname, 'kit/orders-functions'));
  const makeFunction = (id: string, properties: Partial<FunctionProps> = {}) =>
    new LambdaFunction(stack, id, {
      runtime: Runtime.NODEJS_24_X,
      handler: `index.${id}`,
      code,
      environment: { ORDERS: table.tableName },
      ...properties,
    });
  const orders = makeFunction('orders', { logRetention: RetentionDays.ONE_WEEK });
  table.grantReadWriteData(orders);

  const api = new HttpApi(stack, 'Api');
  const toOrders = new HttpLambdaIntegration('ToOrders', orders);
  api.addRoutes({ path: '/orders/{id}', methods: [PUT], integration: toOrders });
  api.addRoutes({ path: '/customers/{customer}/orders', methods: [GET], integration: toOrders });
  api.addRoutes({
    path: '/admin/{id+}',
    methods: [GET, POST],
    integration: new HttpLambdaIntegration('ToAdmin', makeFunction('admin')),
    authorizer: new HttpLambdaAuthorizer('Authorizer', makeFunction('authorize')),
  });
  api.addRoutes({
    path: '/mine',
    methods: [GET],
    integration: new HttpLambdaIntegration('ToMine', makeFunction('mine')),
    authorizer: new HttpUserPoolAuthorizer('Users', new UserPool(stack, 'Pool')),
    authorizationScopes: ['read'],
  });
  return { app, stack, api, makeFunction, orders, toOrders };
};

/** Adds what the emulator does not serve. */
const addOthers = ({ stack, api, makeFunction, orders, toOrders }: ReturnType<typeof makeApp>): void => {
  const limits = new PolicyStatement({ actions: ['dynamodb:*', 'sqs:*'], resources: ['*'] });
  PermissionsBoundary.of(stack).apply(new ManagedPolicy(stack, 'Boundary', { statements: [limits] }));
  const queue = new Queue(stack, 'Jobs', { encryptionMasterKey: new Key(stack, 'Key') });
  const bucket = new Bucket(stack, 'Bucket', { autoDeleteObjects: true, removalPolicy: RemovalPolicy.DESTROY });
  const others = {
    QUEUE: queue.queueUrl,
    BUS: new EventBus(stack, 'Bus').eventBusName,
    BUCKET: bucket.bucketName,
    SECRET: new Secret(stack, 'Secret').secretArn,
  };
  for (const [name, value] of Object.entries(others)) orders.addEnvironment(name, value);
  queue.grantSendMessages(orders);
  const worker = makeFunction('worker', { handler: 'index.admin' });
  worker.addEventSource(new SqsEventSource(queue));
  bucket.addEventNotification(EventType.OBJECT_CREATED, new LambdaDestination(worker));
  // This function has no code here, so it must not be loaded.
  const { serviceToken } = new Provider(stack, 'Provider', { onEventHandler: makeFunction('onEvent') });
  new CustomResource(stack, 'Seed', { serviceToken });
  api.addRoutes({ path: '/iam', methods: [GET], integration: toOrders, authorizer: new HttpIamAuthorizer() });
};

const jwt = { issuer: 'tests', audience: ['shop'] };

const start = async (options: ServeOptions) => {
  const emulator = await serve(options);
  onTestFinished(emulator.close);
  const ask = (method: string, target: string, headers: Record<string, string> = {}, body?: string) =>
    fetch(emulator.url + target, { method, headers, ...(body !== undefined && { body }) });
  return { emulator, ask, putOrder: () => ask('PUT', '/orders/a%201', { 'content-type': 'text/plain' }, 'ann') };
};

test('the emulator serves the routes, functions, authorizers, roles and tables of a synthesized stack', async () => {
  const folder = await temporaryFolder();
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const { emulator, ask, putOrder } = await start({
    app: makeApp(`${folder}/cdk.out`).app,
    store: { folder: `${folder}/data` },
    jwt: { ...jwt, jwks: { keys: [{ ...(await exportJWK(publicKey)), kid: 'one' }] } },
  });

  // A function stores an order under the id in the path, and finds the order in the table's index.
  expect((await putOrder()).status).toBe(204);
  expect(await (await ask('GET', '/customers/ann/orders')).json()).toEqual(['a 1']);

  const authorization = 'secret';
  expect((await ask('POST', '/admin/a/b', { authorization: 'guess' })).status).toBe(403);
  expect(await (await ask('POST', '/admin/a/b', { authorization })).json()).toEqual({ user: 'ann', id: 'a/b' });

  // The stack does not grant this function a permission that it needs.
  expect((await ask('GET', '/admin/1', { authorization })).status).toBe(500);
  expect(JSON.stringify(emulator.log.at(-1))).toMatch(
    /AccessDeniedException: User: .*role\/admin.* is not authorized to perform: dynamodb:GetItem on .*table\/Table/,
  );

  // The user pool of the stack is not served: `jwt` says whose tokens to accept in its place.
  const tokenWith = (scope: string): Promise<string> =>
    new SignJWT({ iss: 'tests', client_id: 'shop', exp: 1e11, sub: 'ann', scope })
      .setProtectedHeader({ alg: 'RS256', kid: 'one' })
      .sign(privateKey);
  const mine = async (scope: string) => ask('GET', '/mine', { authorization: `Bearer ${await tokenWith(scope)}` });
  expect(await (await mine('read')).json()).toBe('ann');
  expect((await mine('write')).status).toBe(403);

  const name = emulator.stack.functions.find(({ name }) => name.startsWith('admin'))?.name ?? '';
  const requestContext = { authorizer: { lambda: { user: 'ann' } } };
  const event = { routeKey: '', pathParameters: { id: '1' }, requestContext };
  expect(await emulator.invoke(name, event)).toEqual({ result: '{"user":"ann","id":"1"}', log: [] });
});

test('with leaveOut, the emulator serves a stack with queues, custom resources and the like, and lists what it leaves out', async () => {
  const folder = await temporaryFolder();
  const made = makeApp(`${folder}/cdk.out`);
  addOthers(made);
  const options = { app: made.app, store: { folder: `${folder}/data` }, jwt };
  await expect(serve(options)).rejects.toThrow(/QUEUE refers to Jobs.*\n.*pass the option `leaveOut: true`, or .*\.$/s);

  const { emulator, ask, putOrder } = await start({ ...options, leaveOut: true });
  expect((await putOrder()).status).toBe(204);
  const iam = await ask('GET', '/iam');
  expect([iam.status, await iam.text()]).toEqual([501, expect.stringContaining('its AuthorizationType is')]);

  const { functions, withoutEffect, leftOut } = emulator.stack;
  const short = (name: string) => name.replace(/[\dA-F]{8}(?= |$)/, '');
  const names = functions.map((each) => short(each.name));
  expect(names).toEqual(['orders', 'admin', 'authorize', 'mine', 'worker']);
  const ignored = [
    'Key (AWS::KMS::Key)',
    'ordersLogRetention (Custom::LogRetention)',
    'onEvent (AWS::Lambda::Function)',
    'Seed (AWS::CloudFormation::CustomResource)',
  ];
  expect(withoutEffect.map(short)).toEqual(expect.arrayContaining(ignored));
  const left = [
    'Jobs (AWS::SQS::Queue)',
    'Bucket (AWS::S3::Bucket)',
    'BucketNotifications (Custom::S3BucketNotifications)',
    'Environment.Variables.QUEUE of orders (AWS::Lambda::Function)',
  ];
  expect(leftOut.map(({ resource }) => short(resource))).toEqual(expect.arrayContaining(left));
});
