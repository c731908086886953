import { Duration } from 'aws-cdk-lib';
import { HttpApi, HttpMethod, type IHttpRouteAuthorizer } from 'aws-cdk-lib/aws-apigatewayv2';
import { HttpLambdaAuthorizer, HttpLambdaResponseType } from 'aws-cdk-lib/aws-apigatewayv2-authorizers';
import { HttpLambdaIntegration } from 'aws-cdk-lib/aws-apigatewayv2-integrations';
import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import type { Construct } from 'constructs';

type PlantApiProps = { authorizer: IFunction; createPlant: IFunction };

/** The HTTP API of schemas/openapi.yaml. Every route is behind the authorizer, a later one too. */
export class PlantApi extends HttpApi {
  constructor(scope: Construct, id: string, { authorizer, createPlant }: PlantApiProps) {
    super(scope, id, { defaultAuthorizer: bearerAuth(authorizer) });
    this.addRoutes({
      path: '/plants',
      methods: [HttpMethod.POST],
      integration: new HttpLambdaIntegration('CreatePlant', createPlant),
    });
  }
}

const bearerAuth = (authorizer: IFunction): IHttpRouteAuthorizer =>
  new HttpLambdaAuthorizer('BearerAuth', authorizer, {
    responseTypes: [HttpLambdaResponseType.SIMPLE],
    // A cached answer would outlive its token.
    resultsCacheTtl: Duration.seconds(0),
    identitySource: ['$request.header.Authorization'],
  });
