import { CfnOutput, Duration, PermissionsBoundary, Stack } from 'aws-cdk-lib';
import { HttpMethod } from 'aws-cdk-lib/aws-apigatewayv2';
import { HttpLambdaIntegration } from 'aws-cdk-lib/aws-apigatewayv2-integrations';
import type { Construct } from 'constructs';
import { operations as contract } from '../functions/generated/contract.ts';
import { AccountBudget } from '../packages/cdk/account-budget.ts';
import { PlantApi } from '../packages/cdk/guarded-api.ts';
import { Monitoring } from '../packages/cdk/monitoring.ts';
import { OutsideCheck } from '../packages/cdk/outside-check.ts';
import { ServiceFunction } from '../packages/cdk/service-function.ts';
import type { Settings } from '../packages/cdk/settings.ts';
import { SmokeTest } from '../packages/cdk/smoke-test.ts';
import { resourceOf, TokenIssuer } from '../packages/cdk/token-issuer.ts';
import { grants, listOperations, listTables } from './operations.ts';

/** The whole service: an API with an authorizer, a function for each operation, tables, alarms and a dashboard. */
export class PlantStoreStack extends Stack {
  constructor(app: Construct, settings: Settings) {
    const { stage, stageName, externalIssuer, alarmEmail, budget, tags, tracing, permissionsBoundary } = settings;
    super(app, stageName === 'prod' ? 'PlantStore' : `PlantStore-${stageName}`, {
      description: 'Plant Store: the API of schemas/openapi.yaml',
      // CloudFormation gives these tags to all resources that support them. packages/cdk/github.ts relies on service and stage.
      tags: { ...tags, service: 'plant-store', stage: stageName },
      terminationProtection: stage === 'prod',
      ...(permissionsBoundary !== undefined && {
        permissionsBoundary: PermissionsBoundary.fromName(permissionsBoundary),
      }),
    });
    const operations = listOperations(contract);
    const scopes = [...new Set(operations.flatMap((operation) => operation.scopes))];

    const tables = listTables().map((each) => ({ ...each, table: new each.Table(this, each.id, settings) }));

    const addPool = () => new TokenIssuer(this, 'TokenIssuer', scopes, settings);
    const trusted = externalIssuer ?? addPool();
    const { issuer, jwksUri, audience, clientIds, scopeClaim } = trusted;
    // In `prod`, keep the pool while another issuer is trusted: docs/decisions/stack.md.
    if (externalIssuer && stage === 'prod' && resourceOf(scopes) !== undefined) addPool();
    const authorizer = new ServiceFunction(this, 'Authorizer', {
      entry: 'authorizer.lambda.ts',
      environment: {
        ISSUER: issuer,
        JWKS_URI: jwksUri,
        AUDIENCE: audience,
        CLIENT_IDS: clientIds,
        SCOPE_CLAIM: scopeClaim,
      },
      // API Gateway waits 10 s for an authorizer, and fetching the issuer's keys takes at most 3 s of that time.
      timeout: Duration.seconds(9),
      stage,
      tracing,
    });
    const api = new PlantApi(this, 'Api', { authorizer: authorizer.live, operations, ...settings });

    const entries = operations.map(({ id, name, entry, method, path }) => {
      const granted = tables.filter((each) => grants[id][each.id]?.length);
      const fn = new ServiceFunction(this, name, {
        entry,
        environment: Object.fromEntries(granted.map(({ variable, table }) => [variable, table.tableName])),
        // packages/runtime/http/ answers each request at least 2.7 s before this time-out.
        timeout: Duration.seconds(5),
        stage,
        tracing,
      });
      for (const { table, id: tableId } of granted) table.grant(fn, ...(grants[id][tableId] ?? []));
      api.addRoutes({ path, methods: [HttpMethod[method]], integration: new HttpLambdaIntegration(name, fn.live) });
      return [id, fn] as const;
    });
    const ofOperations = Object.fromEntries(entries);

    const apiUrl = api.outputs.ApiUrl;
    const pages =
      stage === 'prod' ? [new OutsideCheck(this, 'OutsideCheck', { apiUrl, issuer, stage, tracing }).alarm] : [];
    const watched = { api, operations: Object.values(ofOperations), authorizer, tables, pages };
    const monitoring = new Monitoring(this, 'Monitoring', watched, settings);
    if (stage === 'prod') {
      const functions = { ...ofOperations, authorizer };
      const smokeTest = new SmokeTest(this, 'SmokeTest', { functions, tables, issuer, stage, tracing });
      for (const [each, alarms] of monitoring.rollBackAlarms) each.rollOutInSteps(alarms, smokeTest);
    }

    if (budget !== undefined && alarmEmail !== undefined) new AccountBudget(this, 'Budget', budget, alarmEmail);

    const outputs = {
      ...api.outputs,
      ...Object.fromEntries(tables.map(({ output, table }) => [output, table.tableName])),
      Scope: scopes.join(' '),
      DashboardUrl: monitoring.dashboardUrl,
      ...(trusted instanceof TokenIssuer ? trusted.outputs : { Issuer: issuer }),
    };
    for (const [name, value] of Object.entries(outputs)) new CfnOutput(this, name, { value });
  }
}
