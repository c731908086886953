import type { ApiSpec, CorsSpec, Throttle } from '../served-stack.ts';
import type { Resource } from './resource.ts';
import type { Resources } from './resources.ts';
import { readRoutes } from './routes.ts';

/** Reads the one HTTP API of a template. */
export const readApi = (resources: Resources): ApiSpec => {
  const [api, other] = resources.ofType('AWS::ApiGatewayV2::Api');
  if (api === undefined) {
    throw new Error('The template has no AWS::ApiGatewayV2::Api. Only a stack with an HTTP API can be served.');
  }
  if (other !== undefined) {
    throw other.refuse(`the template has a second API, ${api.logicalId}`, 'Put one of them into another stack.');
  }
  api.mustBe('ProtocolType', ['HTTP'], 'A WebSocket API cannot be served.');
  mustBelongTo(api, resources);
  const cors = readCors(api);
  return { routes: readRoutes(resources, readThrottles(resources)), ...(cors && { cors }) };
};

/** Refuses a part of an API that is defined elsewhere. */
const mustBelongTo = (api: Resource<'AWS::ApiGatewayV2::Api'>, resources: Resources): void => {
  const parts = resources.ofType(
    'AWS::ApiGatewayV2::Authorizer',
    'AWS::ApiGatewayV2::Integration',
    'AWS::ApiGatewayV2::Route',
    'AWS::ApiGatewayV2::Stage',
  );
  for (const part of parts) part.mustBe('ApiId', [api.logicalId], 'Define the API in the same stack.');
};

/** https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-cors.html */
const readCors = (api: Resource<'AWS::ApiGatewayV2::Api'>): CorsSpec | undefined => {
  const configuration = api.get('CorsConfiguration');
  if (configuration === undefined) return undefined;
  const fields = api.fields('CorsConfiguration', configuration, [
    'AllowCredentials',
    'AllowHeaders',
    'AllowMethods',
    'AllowOrigins',
    'ExposeHeaders',
    'MaxAge',
  ]);
  const list = (value: unknown): string[] => [value ?? []].flat().map(String);
  return {
    allowOrigins: list(fields.AllowOrigins),
    allowMethods: list(fields.AllowMethods),
    allowHeaders: list(fields.AllowHeaders),
    exposeHeaders: list(fields.ExposeHeaders),
    allowCredentials: String(fields.AllowCredentials) === 'true',
    ...(fields.MaxAge !== undefined && { maxAge: Number(fields.MaxAge) }),
  };
};

/**
 * Reads the throttle of each route of the only stage.
 * https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-throttling.html
 */
const readThrottles = (resources: Resources): ((routeKey: string) => Throttle | undefined) => {
  const [stage, other] = resources.ofType('AWS::ApiGatewayV2::Stage');
  if (stage === undefined) {
    throw new Error('The template has no AWS::ApiGatewayV2::Stage. An API is served only with its stage $default.');
  }
  if (other !== undefined) {
    throw other.refuse(`the template has a second stage, ${stage.logicalId}`, 'Leave one of them out of the template.');
  }
  stage.mustBe('StageName', ['$default'], 'The path of another stage would begin with its name.');
  stage.mustBe('AutoDeploy', [true], 'The routes are served as the template has them now.');
  const defaults = readSettings(stage, 'DefaultRouteSettings', stage.get('DefaultRouteSettings') ?? {});
  const ofRoutes = stage.fields('RouteSettings', stage.get('RouteSettings') ?? {}, routeKeysOf(resources));
  return (routeKey) => {
    const settings = ofRoutes[routeKey] ?? {};
    const { rate, burst } = { ...defaults, ...readSettings(stage, `RouteSettings.${routeKey}`, settings) };
    if (rate === undefined && burst === undefined) return undefined;
    return { rate: rate ?? accountThrottle.rate, burst: burst ?? accountThrottle.burst };
  };
};

/**
 * What AWS allows in most regions if a stage sets no limit.
 * https://docs.aws.amazon.com/apigateway/latest/developerguide/limits.html
 */
const accountThrottle: Throttle = { rate: 10_000, burst: 5_000 };

const routeKeysOf = (resources: Resources): string[] =>
  resources.ofType('AWS::ApiGatewayV2::Route').map((route) => route.text('RouteKey'));

const readSettings = (
  stage: Resource<'AWS::ApiGatewayV2::Stage'>,
  path: string,
  settings: unknown,
): Partial<Throttle> => {
  const { ThrottlingRateLimit: rate, ThrottlingBurstLimit: burst } = stage.fields(path, settings, [
    'DataTraceEnabled',
    'DetailedMetricsEnabled',
    'LoggingLevel',
    'ThrottlingBurstLimit',
    'ThrottlingRateLimit',
  ]);
  return { ...(rate !== undefined && { rate: Number(rate) }), ...(burst !== undefined && { burst: Number(burst) }) };
};
