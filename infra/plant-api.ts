import { Duration, Stack } from 'aws-cdk-lib';
import { AccessLogFormat } from 'aws-cdk-lib/aws-apigateway';
import { HttpApi, HttpStage, LogGroupLogDestination } from 'aws-cdk-lib/aws-apigatewayv2';
import { HttpLambdaAuthorizer, HttpLambdaResponseType } from 'aws-cdk-lib/aws-apigatewayv2-authorizers';
import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import type { Construct } from 'constructs';
import { ServiceLog } from './service-log.ts';
import type { Settings } from './settings.ts';

type PlantApiProps = { authorizer: IFunction } & Pick<Settings, 'stage' | 'throttle'>;

/** The HTTP API, at first without routes. Its authorizer guards every route that is added. */
export class PlantApi extends HttpApi {
  constructor(scope: Construct, id: string, { authorizer, stage, throttle }: PlantApiProps) {
    super(scope, id, {
      apiName: Stack.of(scope).stackName,
      createDefaultStage: false,
      defaultAuthorizer: new HttpLambdaAuthorizer('BearerAuth', authorizer, {
        responseTypes: [HttpLambdaResponseType.SIMPLE],
        // A cached authorizer result could outlive its token: docs/decisions/uncached-authorizer.md.
        resultsCacheTtl: Duration.seconds(0),
        identitySource: ['$request.header.Authorization'],
      }),
    });
    const accessLog = new ServiceLog(this, 'AccessLog', stage);
    new HttpStage(this, 'Stage', {
      httpApi: this,
      stageName: '$default',
      autoDeploy: true,
      throttle,
      detailedMetricsEnabled: true,
      accessLogSettings: { destination: new LogGroupLogDestination(accessLog), format: accessLogFormat },
    });
  }
}

/** Of the request headers, only User-Agent goes to the access log, because others may contain secrets. */
const accessLogFormat = AccessLogFormat.custom(
  JSON.stringify({
    requestId: '$context.requestId',
    time: '$context.requestTime',
    sourceIp: '$context.identity.sourceIp',
    method: '$context.httpMethod',
    route: '$context.routeKey',
    status: '$context.status',
    latency: '$context.responseLatency',
    integrationStatus: '$context.integrationStatus',
    integrationError: '$context.integrationErrorMessage',
    integrationRequestId: '$context.integration.requestId',
    authorizerError: '$context.authorizer.error',
    gatewayError: '$context.error.message',
    subject: '$context.authorizer.sub',
    responseLength: '$context.responseLength',
    userAgent: '$context.identity.userAgent',
  }),
);
