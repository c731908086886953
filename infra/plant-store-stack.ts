import { CfnOutput, Duration, Stack } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import { Monitoring } from './monitoring.ts';
import { PlantApi } from './plant-api.ts';
import { PlantsTable } from './plants-table.ts';
import { ServiceFunction } from './service-function.ts';
import type { Settings } from './settings.ts';
import { TokenIssuer } from './token-issuer.ts';

/** The whole deployment: POST /plants -> authorizer -> createPlant -> table, and its monitoring. */
export class PlantStoreStack extends Stack {
  constructor(app: Construct, { stage, externalIssuer, scope, throttle, alarmEmail }: Settings) {
    super(app, stage === 'prod' ? 'PlantStore' : `PlantStore-${stage}`, {
      description: 'Plant Store: POST /plants',
      terminationProtection: stage === 'prod',
    });

    const table = new PlantsTable(this, 'Plants', stage);

    const createPlant = new ServiceFunction(this, 'CreatePlant', {
      entry: 'create-plant.lambda.ts',
      environment: { TABLE_NAME: table.tableName },
      // createPlant answers within 2.3 s (`timeLimit` in its entry); the rest is for a cold start.
      timeout: Duration.seconds(5),
      stage,
    });
    table.grantAdd(createPlant);

    const issuer = externalIssuer ?? new TokenIssuer(this, 'TokenIssuer', scope);
    const authorizer = new ServiceFunction(this, 'Authorizer', {
      entry: 'authorizer.lambda.ts',
      environment: {
        ISSUER: issuer.issuer,
        JWKS_URI: issuer.jwksUri,
        AUDIENCE: issuer.audience,
        REQUIRED_SCOPE: scope,
        SCOPE_CLAIM: issuer.scopeClaim,
      },
      // Below the 10 s that API Gateway waits for an authorizer, and above the 3 s that fetching the issuer's keys may take.
      timeout: Duration.seconds(9),
      stage,
    });

    const api = new PlantApi(this, 'Api', {
      authorizer: authorizer.live,
      createPlant: createPlant.live,
      stage,
      throttle,
    });

    const monitoring = new Monitoring(this, 'Monitoring', { api, createPlant, authorizer, table, alarmEmail });
    if (stage === 'prod') {
      // createPlant turns faults into 500 responses, which Lambda does not count as errors.
      createPlant.rollOutInSteps([monitoring.alarm('CreatePlantErrors'), monitoring.alarm('CreatePlantFaults')]);
      authorizer.rollOutInSteps([monitoring.alarm('AuthorizerErrors')]);
    }

    new CfnOutput(this, 'ApiUrl', { value: api.apiEndpoint });
    new CfnOutput(this, 'TableName', { value: table.tableName });
    new CfnOutput(this, 'Scope', { value: scope });
    new CfnOutput(this, 'DashboardUrl', { value: monitoring.dashboardUrl });
    if (issuer instanceof TokenIssuer) {
      new CfnOutput(this, 'TokenUrl', { value: issuer.tokenUrl });
      new CfnOutput(this, 'ClientId', { value: issuer.clientId });
      new CfnOutput(this, 'UserPoolId', { value: issuer.userPoolId });
    } else {
      new CfnOutput(this, 'Issuer', { value: issuer.issuer });
    }
  }
}
