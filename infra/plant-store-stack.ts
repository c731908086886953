import {
  AccountBudget,
  Authorizer,
  GuardedApi,
  listRoutes,
  Monitoring,
  OperationFunction,
  OutsideCheck,
  ServiceStack,
  type Settings,
  SmokeTest,
  scopesOf,
  trustedIssuer,
} from '@lambda-service/cdk';
import { HttpMethod } from 'aws-cdk-lib/aws-apigatewayv2';
import { HttpLambdaIntegration } from 'aws-cdk-lib/aws-apigatewayv2-integrations';
import type { Construct } from 'constructs';
import { type OperationId, operations, responseHeaders } from '../functions/generated/contract.ts';
import { PlantsTable } from './plants-table.ts';

export const names = {
  title: 'Plant Store',
  stack: 'PlantStore',
  tag: 'plant-store',
  domainPrefix: 'plants',
  table: 'Plants',
};

/** The whole service: a table, a function for each operation, an API with an authorizer, alarms and a dashboard. */
export class PlantStoreStack extends ServiceStack {
  constructor(app: Construct, settings: Settings) {
    super(app, { ...settings, names });
    const { stage, tracing, throttle, allowOrigins, domain, externalIssuer, clientIds, alarmEmail, budget } = settings;
    const common = { stage, tracing };

    const plants = new PlantsTable(this, names.table, { stage, throttle });

    const createPlant = new OperationFunction(this, 'CreatePlant', {
      entry: 'create-plant.lambda.ts',
      environment: { TABLE_NAME: plants.tableName },
      ...common,
    });
    // UpdateItem can change any item. Only the condition in createPlant's calls keeps it from changing a stored plant.
    plants.grant(createPlant, 'dynamodb:UpdateItem');
    const functions = { createPlant } satisfies Record<OperationId, OperationFunction>;

    const scopes = scopesOf(operations);
    const issuer = trustedIssuer(this, 'TokenIssuer', { externalIssuer, clientIds, scopes, stage, ...names });
    const authorizer = new Authorizer(this, 'Authorizer', { entry: 'authorizer.lambda.ts', issuer, ...common });

    const cors = { operations, responseHeaders, allowOrigins };
    const api = new GuardedApi(this, 'Api', { authorizer: authorizer.live, cors, domain, throttle, stage });
    for (const { method, path, name, fn } of listRoutes(operations, functions))
      api.addRoutes({ path, methods: [HttpMethod[method]], integration: new HttpLambdaIntegration(name, fn.live) });

    const called = { apiUrl: api.outputs.ApiUrl, issuer: issuer.issuer };
    const pages = stage === 'prod' ? [new OutsideCheck(this, 'OutsideCheck', { ...called, ...common }).alarm] : [];
    const watched = { api, operations: Object.values(functions), authorizer };
    const monitoring = new Monitoring(this, 'Monitoring', { ...watched, pages, stage, alarmEmail });
    if (budget !== undefined && alarmEmail !== undefined) new AccountBudget(this, 'Budget', budget, alarmEmail);

    if (stage === 'prod') {
      const tested = { functions: { ...functions, authorizer }, table: plants, issuer: issuer.issuer };
      const smokeTest = new SmokeTest(this, 'SmokeTest', { ...tested, ...common });
      for (const [fn, alarms] of monitoring.rollBackAlarms) fn.rollOutInSteps(alarms, smokeTest);
    }

    this.addOutputs({
      ...api.outputs,
      TableName: plants.tableName,
      Scope: scopes.join(' '),
      DashboardUrl: monitoring.dashboardUrl,
      ...issuer.outputs,
    });
  }
}
