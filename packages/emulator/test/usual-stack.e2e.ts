/** Serves, by `serve` and by the command, a stack that the CDK synthesizes, with what such stacks usually have. */
import { execFile, spawn } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { cp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { App, CustomResource, RemovalPolicy, Stack, Stage } from 'aws-cdk-lib';
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
import { expect, onTestFinished, test, vi } from 'vitest';
import { serve } from '../serve.ts';
import { temporaryFolder } from './kit/temporary.ts';

const { GET, POST, PUT } = HttpMethod;

/** An app with an empty stack, and one in a stage: five functions, two authorizers, and a table with an index. */
const makeApp = (outdir: string) => {
  const app = new App({ outdir, builtinCloudFormationValidation: false });
  new Stack(app, 'Other');
  const stack = new Stack(new Stage(app, 'Prod'), 'Orders', { env: { account: '123456789012', region: 'eu-west-1' } });
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
  const hello = makeFunction('hello', { functionName: 'Hello', environment: { GREETING: 'Hello' } });
  api.addRoutes({ path: '/hello/{name}', integration: new HttpLambdaIntegration('ToHello', hello) });
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
  makeFunction('broken', { handler: 'broken.handler' });
  worker.addEventSource(new SqsEventSource(queue));
  bucket.addEventNotification(EventType.OBJECT_CREATED, new LambdaDestination(worker));
  // This function has no code here, so it must not be loaded.
  const { serviceToken } = new Provider(stack, 'Provider', { onEventHandler: makeFunction('onEvent') });
  new CustomResource(stack, 'Seed', { serviceToken });
  api.addRoutes({ path: '/iam', methods: [GET], integration: toOrders, authorizer: new HttpIamAuthorizer() });
};

const jwt = { issuer: 'tests', audience: ['shop'] };

test('the emulator serves the routes, functions, authorizers, roles and tables of a synthesized stack', async () => {
  const folder = await temporaryFolder();
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const emulator = await serve({
    app: makeApp(`${folder}/cdk.out`).app,
    store: { folder: `${folder}/data` },
    jwt: { ...jwt, jwks: { keys: [{ ...(await exportJWK(publicKey)), kid: 'one' }] } },
  });
  onTestFinished(emulator.close);
  const ask = (method: string, target: string, headers = {}) => fetch(emulator.url + target, { method, headers });

  // A function stores an order under the id in the path, and finds the order in the table's index.
  expect((await ask('PUT', '/orders/a%201', { customer: 'ann' })).status).toBe(204);
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
  expect(await (await mine('read')).text()).toBe('ann');
  expect((await mine('write')).status).toBe(403);

  const name = emulator.stack.functions.find(({ name }) => name.startsWith('admin'))?.name ?? '';
  const requestContext = { authorizer: { lambda: { user: 'ann' } } };
  const event = { routeKey: '', pathParameters: { id: '1' }, requestContext };
  expect(await emulator.invoke(name, event)).toEqual({ result: '{"user":"ann","id":"1"}', log: [] });
});

const command = path.resolve(import.meta.dirname, '../command/bin.ts');

/** Synthesizes the app, with what the emulator does not serve, in a new folder. @returns the folder */
const synthesize = async (): Promise<string> => {
  const folder = await temporaryFolder();
  const made = makeApp(`${folder}/cdk.out`);
  addOthers(made);
  made.app.synth();
  return folder;
};

test('the command serves a stack of a stage, lists what it leaves out, prints requests, serves changes, keeps a stack that it can serve, and stops', async () => {
  const folder = await synthesize();
  await writeFile(`${folder}/options.json`, JSON.stringify({ jwt, environment: { Hello: { TITLE: 'Dr.' } } }));
  const options = ['--stack', 'Prod/Orders', '--port', '0', '--watch', '--leave-out', '--options', 'options.json'];
  const child = spawn(process.execPath, [command, ...options], { cwd: folder, env: { TZ: 'Asia/Tokyo' } });
  onTestFinished(() => void child.kill('SIGKILL'));
  const printed: string[] = [];
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => void printed.push(String(chunk)));
  const see = (pattern: RegExp) => vi.waitFor(() => expect(printed.join('')).toMatch(pattern), { timeout: 60_000 });

  const announced = [
    /^Serving at \S+ \(store: dynalite, data in \.http-api-emulator\):$/m,
    /^ {2}routes: PUT \/orders\/\{id\}, GET \/customers\/\{customer\}\/orders, ANY \/hello\/\{name\}, GET /m,
    /^ {2}functions: orders\w+, Hello, admin\w+, authorize\w+, mine\w+, worker\w+, broken\w+\n {2}tables: Table\w+$/m,
    /^ {2}without effect: ordersLogRetention\w+ \(Custom::LogRetention\), .*Key\w+ \(AWS::KMS::Key\), /m,
    /^ {2}without effect: .*onEvent\w+ \(AWS::Lambda::Function\), .*Seed \(AWS::CloudFormation::CustomResource\)$/m,
    /^Not served here: Jobs \(AWS::SQS::Queue\), Bucket \(AWS::S3::Bucket\), .*, because only HTTP APIs/m,
    /^Not served here: Environment\.Variables\.QUEUE of orders \(AWS::Lambda::Function\), because it refers/m,
    /^The function broken\w+ .* cannot be loaded: Error: no setting\nbroken\w+ ERROR .*\n.*\n +at .*broken\.js:1:7/m,
  ];
  for (const each of announced) await see(each);
  const [url] = /http:\S+/.exec(printed.join('')) ?? [];
  const ask = async (headers = {}) => (await fetch(`${url}/hello/Ann`, { headers })).text();
  expect(await ask()).toBe('Hello Dr. Ann');
  await see(
    /^\d\d:\d\d:\d\d GET \/hello\/Ann 200 \d+ ms \S+=\n {4}Hello INFO asked Ann 0\n {4}Hello ERROR .*late"}\n/m,
  );
  await see(/^ {4}Error: late\n {8}at .*index\.mjs/m);
  await ask({ origin: 'http://shop.example' });
  await see(/GET \/hello\/Ann 200 \d+ ms \S+= http:\/\/shop\.example is refused by CORS\n/);
  const iam = await fetch(`${url}/iam`);
  expect([iam.status, await iam.text()]).toEqual([501, expect.stringContaining('its AuthorizationType is')]);

  const [output, changed] = [`${folder}/cdk.out`, `${folder}/changed`];
  const name = (await readdir(`${output}/assembly-Prod`)).find((each) => each.endsWith('.template.json'));
  const template = await readFile(`${output}/assembly-Prod/${name}`, 'utf8');
  const change = async (text: string, replacement: string) => {
    await cp(output, changed, { recursive: true });
    await writeFile(`${changed}/assembly-Prod/${name}`, template.replaceAll(text, replacement));
    await rm(output, { recursive: true });
    await rename(changed, output);
  };
  await change('AWS::ApiGatewayV2::Api"', 'AWS::SQS::Queue"');
  await see(/The template has no .*\nNot reloaded: the service continues as before/s);
  expect(await ask()).toBe('Hello Dr. Ann');
  await change('"GREETING": "Hello"', '"GREETING": "Bye"');
  await see(/Serving at.*Serving at.*\nReloaded the stack \(/s);
  expect(await ask()).toBe('Bye Dr. Ann');

  child.kill('SIGINT');
  child.kill('SIGINT');
  expect(await once(child, 'exit')).toEqual([0, null]);
  expect(printed.join('')).toMatch(/\nStopping, once running requests have ended\. Ctrl-C again stops at once\.\n$/);
  expect((await readdir(folder)).toSorted()).toEqual(['.http-api-emulator', 'cdk.out', 'options.json']);
});

test('the command says what is wrong, and exits with code 1', async () => {
  const folder = await synthesize();
  const run = (...args: string[]) =>
    new Promise((resolve) => {
      execFile(process.execPath, args, { cwd: folder }, (error, _, stderr) => resolve([error?.code, stderr]));
    });
  await writeFile(path.join(folder, 'list.json'), '[]');
  await writeFile(path.join(folder, 'port.json'), '{"port":1}');
  await writeFile(path.join(folder, 'pem.json'), '{"certificates":["x"]}');
  const old = 'data:text/javascript,Object.defineProperty(process,"versions",{value:{node:"24.4.1"}})';
  const full = path.join(import.meta.dirname, 'kit/full-disk.ts');
  const results: [args: string[], message: string][] = [
    [['--import', old, command], 'http-api-emulator needs Node.js 24.5 or newer, but this is v'],
    [[command, '--prot\u001b[\u001b[2J2J\b'], "error: unknown option '--prot\\u001b[\\u001b[2J2J\\u0008'"],
    [[command, '--options', 'pem.json'], 'The option certificates.0 must be a certificate (PEM), not '],
    [[command, '--options', 'missing.json'], "argument 'missing.json' is invalid. ENOENT: no such file or directory"],
    [[command, '--options', 'list.json'], "argument 'list.json' is invalid. It must be an object."],
    [[command, '--options', 'port.json'], "argument 'port.json' is invalid. The command has an argument for port."],
    [['--import', full, command, '--leave-out', '--port', '0'], '/dynamodb cannot be used: IO error: No space left on'],
    [[command, 'dist'], 'dist/manifest.json is missing. Run `cdk synth` first'],
    [[command], 'To serve the rest of the stack, pass the option `leaveOut: true`, or --leave-out to the command.'],
  ];
  const ended = await Promise.all(results.map(([args]) => run(...args)));
  expect(ended).toEqual(results.map(([, message]) => [1, expect.stringContaining(message)]));
});
