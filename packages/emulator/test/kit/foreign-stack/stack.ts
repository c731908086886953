/** A stack that shares nothing with the emulator: three functions, an authorizer for one path, a table with an index. */
import path from 'node:path';
import { App, Duration, Stack } from 'aws-cdk-lib';
import { CorsHttpMethod, HttpApi, HttpMethod } from 'aws-cdk-lib/aws-apigatewayv2';
import { HttpLambdaAuthorizer, HttpLambdaResponseType } from 'aws-cdk-lib/aws-apigatewayv2-authorizers';
import { HttpLambdaIntegration } from 'aws-cdk-lib/aws-apigatewayv2-integrations';
import { AttributeType, TableV2 } from 'aws-cdk-lib/aws-dynamodb';
import { Code, Function as LambdaFunction, Runtime } from 'aws-cdk-lib/aws-lambda';
import { buildSync } from 'esbuild';

/** Makes a CDK app with the stack. The app writes its output to `folder`. */
export const foreignApp = (folder: string): App => {
  const app = new App({ outdir: path.join(folder, 'cdk.out') });
  const stack = new Stack(app, 'Orders');
  const table = new TableV2(stack, 'Table', { partitionKey: { name: 'id', type: AttributeType.STRING } });
  const customer = { name: 'customer', type: AttributeType.STRING };
  table.addGlobalSecondaryIndex({ indexName: 'by-customer', partitionKey: customer });

  const code = Code.fromAsset(bundle(folder));
  const [orders, admin, authorize] = ['orders', 'admin', 'authorize'].map(
    (name) =>
      new LambdaFunction(stack, name, {
        runtime: Runtime.NODEJS_24_X,
        handler: `index.${name}`,
        code,
        environment: { ORDERS: table.tableName },
      }),
  ) as [LambdaFunction, LambdaFunction, LambdaFunction];
  table.grantReadWriteData(orders);

  const { GET, POST, PUT } = HttpMethod;
  const api = new HttpApi(stack, 'Api', {
    corsPreflight: { allowOrigins: ['https://shop.example'], allowMethods: [CorsHttpMethod.PUT] },
  });
  const toOrders = new HttpLambdaIntegration('ToOrders', orders);
  api.addRoutes({ path: '/orders/{id}', methods: [PUT], integration: toOrders });
  api.addRoutes({ path: '/customers/{customer}/orders', methods: [GET], integration: toOrders });
  api.addRoutes({
    path: '/admin/{id+}',
    methods: [GET, POST],
    integration: new HttpLambdaIntegration('ToAdmin', admin),
    authorizer: new HttpLambdaAuthorizer('Authorizer', authorize, {
      responseTypes: [HttpLambdaResponseType.SIMPLE],
      resultsCacheTtl: Duration.seconds(0),
    }),
  });
  return app;
};

/** Bundles the handlers together with the AWS SDK. @returns the bundle's folder */
const bundle = (folder: string): string => {
  const outdir = path.join(folder, 'bundle');
  const entryPoints = { index: path.join(import.meta.dirname, 'handlers.ts') };
  buildSync({ entryPoints, outdir, bundle: true, platform: 'node', mainFields: ['module', 'main'] });
  return outdir;
};
