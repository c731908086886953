import { Duration, Stack } from 'aws-cdk-lib';
import { AccessLogFormat } from 'aws-cdk-lib/aws-apigateway';
import {
  HttpApi,
  HttpMethod,
  HttpStage,
  type IHttpRouteAuthorizer,
  LogGroupLogDestination,
} from 'aws-cdk-lib/aws-apigatewayv2';
import { HttpLambdaAuthorizer, HttpLambdaResponseType } from 'aws-cdk-lib/aws-apigatewayv2-authorizers';
import { HttpLambdaIntegration } from 'aws-cdk-lib/aws-apigatewayv2-integrations';
import { MathExpression, type Metric, Stats } from 'aws-cdk-lib/aws-cloudwatch';
import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import type { Construct } from 'constructs';
import { ServiceLog } from './service-log.ts';
import type { Settings } from './settings.ts';

type PlantApiProps = { authorizer: IFunction; createPlant: IFunction } & Pick<Settings, 'stage' | 'throttle'>;

/** The HTTP API of schemas/openapi.yaml. Its authorizer guards every route, including routes added later. */
export class PlantApi extends HttpApi {
  readonly accessLog: ServiceLog;

  constructor(scope: Construct, id: string, { authorizer, createPlant, stage, throttle }: PlantApiProps) {
    super(scope, id, {
      apiName: Stack.of(scope).stackName,
      createDefaultStage: false,
      defaultAuthorizer: bearerAuth(authorizer),
    });
    this.addRoutes({
      path: '/plants',
      methods: [HttpMethod.POST],
      integration: new HttpLambdaIntegration('CreatePlant', createPlant),
    });
    this.accessLog = new ServiceLog(this, 'AccessLog', stage);
    new HttpStage(this, 'Stage', {
      httpApi: this,
      stageName: '$default',
      autoDeploy: true,
      throttle,
      detailedMetricsEnabled: true,
      accessLogSettings: { destination: new LogGroupLogDestination(this.accessLog), format: accessLogFormat },
    });
  }

  /** Returns a metric that counts some of the requests (`some`) as a percentage of all requests. */
  metricShare(some: Metric): MathExpression {
    // Each metric needs an id that is unique within its graph.
    const id = `answers${some.metricName}`;
    return new MathExpression({
      expression: `IF(all > 0, 100 * FILL(${id}, 0) / all, 0)`,
      usingMetrics: {
        [id]: some.with({ statistic: Stats.SUM }),
        all: this.metricCount({ statistic: Stats.SUM }),
      },
      label: some.metricName,
    });
  }
}

const bearerAuth = (authorizer: IFunction): IHttpRouteAuthorizer =>
  new HttpLambdaAuthorizer('BearerAuth', authorizer, {
    responseTypes: [HttpLambdaResponseType.SIMPLE],
    // A cached authorizer result could outlive its token: docs/decisions/uncached-authorizer.md.
    resultsCacheTtl: Duration.seconds(0),
    identitySource: ['$request.header.Authorization'],
  });

/**
 * Of the request headers, only User-Agent goes to the access log, because others may contain secrets.
 * https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-logging-variables.html
 */
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
    subject: '$context.authorizer.sub',
    responseLength: '$context.responseLength',
    userAgent: '$context.identity.userAgent',
  }),
);
