import { CfnOutput, Duration, Stack } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import { PlantApi } from './plant-api.ts';
import { PlantsTable } from './plants-table.ts';
import { ServiceFunction } from './service-function.ts';
import type { Settings } from './settings.ts';
import { TokenIssuer } from './token-issuer.ts';

/** POST /plants -> authorizer -> createPlant -> table. */
export class PlantStoreStack extends Stack {
  constructor(app: Construct, id: string, { externalIssuer, scope }: Settings) {
    super(app, id, { description: 'Plant Store: POST /plants' });

    const table = new PlantsTable(this, 'Plants');

    const createPlant = new ServiceFunction(this, 'CreatePlant', {
      entry: 'create-plant.lambda.ts',
      environment: { TABLE_NAME: table.tableName },
      // The store gets 2 s (functions/plants/plant-table.ts); the rest is for a cold start.
      timeout: Duration.seconds(5),
    });
    table.grantAdd(createPlant);

    const issuer = externalIssuer ?? new TokenIssuer(this, 'TokenIssuer', scope);
    const authorizer = new ServiceFunction(this, 'Authorizer', {
      entry: 'authorizer.lambda.ts',
      environment: {
        ISSUER: issuer.issuer,
        JWKS_URI: issuer.jwksUri,
        ...(issuer.audience !== undefined && { AUDIENCE: issuer.audience }),
        REQUIRED_SCOPE: scope,
      },
      // API Gateway waits 10 s for an authorizer; fetching the issuer's keys takes up to 3.
      timeout: Duration.seconds(9),
    });

    const api = new PlantApi(this, 'Api', { authorizer, createPlant });

    new CfnOutput(this, 'ApiUrl', { value: api.apiEndpoint });
    new CfnOutput(this, 'TableName', { value: table.tableName });
    new CfnOutput(this, 'Scope', { value: scope });
    if (issuer instanceof TokenIssuer) {
      new CfnOutput(this, 'TokenUrl', { value: issuer.tokenUrl });
      new CfnOutput(this, 'ClientId', { value: issuer.clientId });
      new CfnOutput(this, 'UserPoolId', { value: issuer.userPoolId });
    }
  }
}
