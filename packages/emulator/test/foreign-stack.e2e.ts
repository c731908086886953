/** Serves a stack that the CDK synthesizes and that shares nothing with the emulator or its users. */
import { generateKeyPairSync } from 'node:crypto';
import path from 'node:path';
import { App, Stack } from 'aws-cdk-lib';
import { HttpApi, HttpMethod } from 'aws-cdk-lib/aws-apigatewayv2';
import { HttpLambdaAuthorizer, HttpUserPoolAuthorizer } from 'aws-cdk-lib/aws-apigatewayv2-authorizers';
import { HttpLambdaIntegration } from 'aws-cdk-lib/aws-apigatewayv2-integrations';
import { UserPool } from 'aws-cdk-lib/aws-cognito';
import { AttributeType, TableV2 } from 'aws-cdk-lib/aws-dynamodb';
import { Code, Function as LambdaFunction, Runtime } from 'aws-cdk-lib/aws-lambda';
import { exportJWK, SignJWT } from 'jose';
import { expect, onTestFinished, test } from 'vitest';
import { serve } from '../serve.ts';
import { temporaryFolder } from './kit/temporary.ts';

/** An app with four functions, two authorizers for a path each, and a table with an index. */
const makeApp = (outdir: string): App => {
  const app = new App({ outdir });
  const stack = new Stack(app, 'Orders');
  const table = new TableV2(stack, 'Table', { partitionKey: { name: 'id', type: AttributeType.STRING } });
  const customer = { name: 'customer', type: AttributeType.STRING };
  table.addGlobalSecondaryIndex({ indexName: 'by-customer', partitionKey: customer });

  const code = Code.fromAsset(path.join(import.meta.dirname, 'kit/orders-functions'));
  const [orders, admin, mine, authorize] = ['orders', 'admin', 'mine', 'authorize'].map(
    (name) =>
      new LambdaFunction(stack, name, {
        runtime: Runtime.NODEJS_24_X,
        handler: `index.${name}`,
        code,
        environment: { ORDERS: table.tableName },
      }),
  ) as [LambdaFunction, LambdaFunction, LambdaFunction, LambdaFunction];
  table.grantReadWriteData(orders);

  const { GET, POST, PUT } = HttpMethod;
  const api = new HttpApi(stack, 'Api');
  const toOrders = new HttpLambdaIntegration('ToOrders', orders);
  api.addRoutes({ path: '/orders/{id}', methods: [PUT], integration: toOrders });
  api.addRoutes({ path: '/customers/{customer}/orders', methods: [GET], integration: toOrders });
  api.addRoutes({
    path: '/admin/{id+}',
    methods: [GET, POST],
    integration: new HttpLambdaIntegration('ToAdmin', admin),
    authorizer: new HttpLambdaAuthorizer('Authorizer', authorize),
  });
  api.addRoutes({
    path: '/mine',
    methods: [GET],
    integration: new HttpLambdaIntegration('ToMine', mine),
    authorizer: new HttpUserPoolAuthorizer('Users', new UserPool(stack, 'Pool')),
    authorizationScopes: ['read'],
  });
  return app;
};

test('the emulator serves the routes, functions, authorizers, roles and tables of a synthesized stack', async () => {
  const folder = await temporaryFolder();
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const emulator = await serve({
    app: makeApp(`${folder}/cdk.out`),
    store: { folder: `${folder}/data` },
    jwt: { issuer: 'tests', audience: ['shop'], jwks: { keys: [{ ...(await exportJWK(publicKey)), kid: 'one' }] } },
  });
  onTestFinished(emulator.close);
  const ask = (method: string, target: string, headers: Record<string, string> = {}, body?: string) =>
    fetch(emulator.url + target, { method, headers, ...(body !== undefined && { body }) });

  // A function stores an order under the id in the path, and finds the order in the table's index.
  expect((await ask('PUT', '/orders/a%201', { 'content-type': 'text/plain' }, 'ann')).status).toBe(204);
  expect(await (await ask('GET', '/customers/ann/orders')).json()).toEqual(['a 1']);

  const authorization = 'secret';
  expect((await ask('POST', '/admin/a/b')).status).toBe(401);
  expect((await ask('POST', '/admin/a/b', { authorization: 'guess' })).status).toBe(403);
  expect(await (await ask('POST', '/admin/a/b', { authorization })).json()).toEqual({ user: 'ann', id: 'a/b' });

  // The stack does not grant this function a permission that it needs.
  expect((await ask('GET', '/admin/1', { authorization })).status).toBe(500);
  expect(emulator.log.at(-1)).toMatchObject({ method: 'GET', path: '/admin/1', status: 500 });
  expect(JSON.stringify(emulator.log.at(-1))).toMatch(
    /AccessDeniedException: User: arn:aws:sts::\d{12}:assumed-role\/admin.* is not authorized to perform: dynamodb:GetItem on resource: arn:aws:dynamodb:.*:table\/Table.*because no identity-based policy allows the dynamodb:GetItem action/,
  );

  // The user pool of the stack is not served: `jwt` says whose tokens to accept in its place.
  const tokenWith = (claims: object): Promise<string> =>
    new SignJWT({ iss: 'tests', client_id: 'shop', exp: 1e11, sub: 'ann', ...claims })
      .setProtectedHeader({ alg: 'RS256', kid: 'one' })
      .sign(privateKey);
  const mine = async (claims: object) => ask('GET', '/mine', { authorization: `Bearer ${await tokenWith(claims)}` });
  expect(await (await mine({ scope: 'read' })).json()).toBe('ann');
  expect((await mine({ scope: 'write' })).status).toBe(403);
  expect((await mine({ scope: 'read', client_id: 'office' })).status).toBe(401);

  const name = emulator.functionNames.find((each) => each.startsWith('admin')) ?? '';
  const event = {
    routeKey: '',
    pathParameters: { id: '1' },
    requestContext: { authorizer: { lambda: { user: 'ann' } } },
  };
  expect(await emulator.invoke(name, event)).toEqual({ result: '{"user":"ann","id":"1"}', log: [] });
});
