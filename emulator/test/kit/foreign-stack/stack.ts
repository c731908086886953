/** A sample stack for the emulator's tests: three functions, an authorizer for one route, two tables, an index. */
import path from 'node:path';
import { App, type AppProps, CfnOutput, Duration, Stack } from 'aws-cdk-lib';
import { CorsHttpMethod, HttpApi, HttpMethod } from 'aws-cdk-lib/aws-apigatewayv2';
import { HttpLambdaAuthorizer, HttpLambdaResponseType } from 'aws-cdk-lib/aws-apigatewayv2-authorizers';
import { HttpLambdaIntegration } from 'aws-cdk-lib/aws-apigatewayv2-integrations';
import { AttributeType, TableV2 } from 'aws-cdk-lib/aws-dynamodb';
import { Code, Function as LambdaFunction, Runtime } from 'aws-cdk-lib/aws-lambda';
import { buildSync } from 'esbuild';

/**
 * Makes a CDK app with the stack. The app writes its output to `folder`. `grant: false` leaves out the permission to
 * write to the audit table.
 */
export const foreignApp = (folder: string, { grant = true } = {}): App => {
  const props: AppProps = { outdir: path.join(folder, 'cdk.out'), builtinCloudFormationValidation: false };
  const app = new App(props);
  const stack = new Stack(app, 'Orders');
  const orders = new TableV2(stack, 'OrdersTable', { partitionKey: { name: 'id', type: AttributeType.STRING } });
  orders.addGlobalSecondaryIndex({
    indexName: 'by-customer',
    partitionKey: { name: 'customer', type: AttributeType.STRING },
  });
  const audit = new TableV2(stack, 'AuditTable', {
    partitionKey: { name: 'id', type: AttributeType.STRING },
    sortKey: { name: 'at', type: AttributeType.NUMBER },
  });

  const functionOf = (id: string, file: string, handler: string): LambdaFunction =>
    new LambdaFunction(stack, id, {
      runtime: Runtime.NODEJS_24_X,
      handler: `index.${handler}`,
      code: Code.fromAsset(bundle(folder, file)),
      environment: { ORDERS: orders.tableName, AUDIT: audit.tableName },
    });
  const ordersFunction = functionOf('OrdersFunction', 'orders.ts', 'handler');
  const adminFunction = functionOf('AdminFunction', 'admin.ts', 'handler');
  const authorizerFunction = functionOf('AuthorizerFunction', 'admin.ts', 'authorize');
  orders.grantReadWriteData(ordersFunction);
  if (grant) audit.grantWriteData(ordersFunction);

  const api = new HttpApi(stack, 'Api', {
    corsPreflight: {
      allowOrigins: ['https://shop.example'],
      allowMethods: [CorsHttpMethod.GET, CorsHttpMethod.PUT],
      allowHeaders: ['authorization'],
    },
  });
  const add = (route: string, fn: LambdaFunction, authorizer?: HttpLambdaAuthorizer): void => {
    const [method, routePath = ''] = route.split(' ');
    const integration = new HttpLambdaIntegration(`${route} integration`, fn);
    api.addRoutes({
      path: routePath,
      methods: [method as HttpMethod],
      integration,
      ...(authorizer && { authorizer }),
    });
  };
  add('GET /orders/{id}', ordersFunction);
  add('PUT /orders/{id}', ordersFunction);
  add('GET /customers/{customer}/orders', ordersFunction);
  const authorizer = new HttpLambdaAuthorizer('Authorizer', authorizerFunction, {
    responseTypes: [HttpLambdaResponseType.SIMPLE],
    identitySource: ['$request.header.Authorization'],
    resultsCacheTtl: Duration.seconds(0),
  });
  add(`${HttpMethod.ANY} /admin/{proxy+}`, adminFunction, authorizer);
  new CfnOutput(stack, 'Url', { value: api.apiEndpoint });
  return app;
};

/** Bundles a handler together with the AWS SDK. @returns the bundle's folder */
const bundle = (folder: string, file: string): string => {
  const outdir = path.join(folder, path.basename(file, '.ts'));
  buildSync({
    entryPoints: { index: path.join(import.meta.dirname, file) },
    bundle: true,
    platform: 'node',
    format: 'cjs',
    mainFields: ['module', 'main'],
    outdir,
  });
  return outdir;
};
