import {
  type ApiSpec,
  type CorsSpec,
  defaultStage,
  type JwtIssuer,
  type LeftOutRoute,
  type RouteSpec,
  type Target,
} from '../served-stack.ts';
import { readAuthorization, readAuthorizer } from './authorizers.ts';
import { type FindTarget, targetFinder } from './functions.ts';
import type { Resource } from './resource.ts';
import type { ServedType } from './resource-types.ts';
import type { Resources } from './resources.ts';
import { named, namesIn } from './template.ts';

type Api = Resource<'AWS::ApiGatewayV2::Api'>;
type Stage = Resource<'AWS::ApiGatewayV2::Stage'>;
type Route = Resource<'AWS::ApiGatewayV2::Route'>;
type IntegrationPart = Resource<'AWS::ApiGatewayV2::Integration'>;

/** Reads the HTTP API of a template. `jwt` is an option of `serve`. @throws Error if no HTTP API can be served */
export const readApi = (resources: Resources, jwt?: JwtIssuer): ApiSpec => {
  const api = findApi(resources);
  resources.readAll(partsOfApi, (part) => part.mustBe('ApiId', [api.logicalId]));
  const stages = readStages(resources);
  const cors = readCors(api);
  return { account: resources.account, stages, routes: readRoutes(api, resources, jwt), ...(cors && { cors }) };
};

/** Returns the first HTTP API, and leaves out the others. */
const findApi = (resources: Resources): Api => {
  const [first, ...others] = resources.readAll(['AWS::ApiGatewayV2::Api'], (each) => {
    each.mustBe('ProtocolType', ['HTTP']);
    return each;
  });
  if (first === undefined) throw missing(resources, 'AWS::ApiGatewayV2::Api', 'Serve a stack with an HTTP API.');
  for (const other of others) resources.leaveOut(other, other.refuse(`only ${first.logicalId} is served`));
  return first;
};

const missing = (resources: Resources, type: ServedType, advice: string): Error =>
  resources.error(`The template has no ${type} that can be served. ${advice}`);

/**
 * Returns the names of the stages to serve: $default or, without it, all that are deployed. Those beside $default give
 * the API other addresses on AWS, and have no effect here.
 */
const readStages = (resources: Resources): string[] => {
  const isDefault = (each: Stage) => each.get('StageName') === defaultStage;
  const hasDefault = resources.ofType('AWS::ApiGatewayV2::Stage').some(isDefault);
  const read = (each: Stage): string[] => {
    if (!hasDefault || isDefault(each)) {
      each.mustBe('AutoDeploy', [true]);
      return [each.text('StageName', undefined, /^(\$default|[\w-]{1,128})$/)];
    }
    resources.withoutEffect.push(named(each));
    return [];
  };
  const stages = resources.readAll(['AWS::ApiGatewayV2::Stage'], read).flat();
  if (stages.length > 0) return stages;
  throw missing(resources, 'AWS::ApiGatewayV2::Stage', 'Add one (in CDK: addStage).');
};

const partsOfApi = [
  'AWS::ApiGatewayV2::ApiMapping',
  'AWS::ApiGatewayV2::Authorizer',
  'AWS::ApiGatewayV2::Integration',
  'AWS::ApiGatewayV2::Route',
  'AWS::ApiGatewayV2::Stage',
] as const satisfies ServedType[];

/**
 * The range of MaxAge, in seconds:
 * https://docs.aws.amazon.com/apigatewayv2/latest/api-reference/apis-apiid.html (Cors)
 */
const maxAgeRange = { min: -1, max: 86_400 };

/**
 * Reads an API's CORS configuration: https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-cors.html
 */
const readCors = (api: Api): CorsSpec | undefined => {
  const configuration = api.get('CorsConfiguration');
  if (configuration === undefined) return undefined;
  const read = namesIn('AllowCredentials AllowHeaders AllowMethods AllowOrigins ExposeHeaders MaxAge');
  const fields = api.fields('CorsConfiguration', configuration, read);
  const texts = (field: keyof typeof fields): string[] => {
    const values: unknown[] = [fields[field] ?? []].flat();
    if (values.every((value) => typeof value === 'string')) return values;
    throw api.refuse(`its CorsConfiguration.${field} is not a list of strings`, 'Set it to a list of strings.');
  };
  const { AllowCredentials = false, MaxAge } = fields;
  if (!['true', 'false'].includes(String(AllowCredentials)))
    throw api.unsupported('CorsConfiguration.AllowCredentials', AllowCredentials, 'Set it to true or false.');
  const allowOrigins = texts('AllowOrigins');
  const allowCredentials = String(AllowCredentials) === 'true';
  if (allowCredentials && allowOrigins.includes('*')) {
    const advice = 'Name the origins in AllowOrigins, or leave AllowCredentials out.';
    throw api.refuse('its CorsConfiguration allows credentials and every origin (*)', advice);
  }
  return {
    allowOrigins,
    allowMethods: texts('AllowMethods'),
    allowHeaders: texts('AllowHeaders'),
    exposeHeaders: texts('ExposeHeaders'),
    allowCredentials,
    ...(MaxAge !== undefined && { maxAge: api.numberIn('CorsConfiguration.MaxAge', MaxAge, maxAgeRange) }),
  };
};

type Integration = { target: Target; timeout: number };

/** Reads the routes of the API. A route that needs what is left out says so in its responses. */
const readRoutes = (api: Api, resources: Resources, jwt?: JwtIssuer): ApiSpec['routes'] => {
  const findTarget = targetFinder(resources);
  const byId = <T extends ServedType, Result>(type: T, readPart: (part: Resource<T>) => Result) =>
    new Map(resources.readAll([type], (part): [string, Result] => [part.logicalId, readPart(part)]));
  const integrations = byId('AWS::ApiGatewayV2::Integration', (each) => readIntegration(each, findTarget));
  const authorizers = byId('AWS::ApiGatewayV2::Authorizer', (each) => readAuthorizer(each, findTarget, jwt));

  const read = (route: Route): RouteSpec => {
    const routeKey = readRouteKey(route);
    const target = route.text('Target');
    const logicalId = target.replace(/^integrations\//, '');
    for (const needed of [logicalId, route.text('AuthorizerId', '')]) resources.mustServe({ logicalId: needed });
    const integration = integrations.get(logicalId);
    if (integration === undefined) throw route.refuse(`its Target ${target} is not an integration of the template`);
    return { routeKey, ...integration, ...readAuthorization(route, authorizers) };
  };
  return resources.readAll<'AWS::ApiGatewayV2::Route', RouteSpec | LeftOutRoute>(
    ['AWS::ApiGatewayV2::Route'],
    read,
    (route, { summary }) =>
      route.get('ApiId') === api.logicalId ? [{ routeKey: readRouteKey(route), leftOut: summary }] : [],
  );
};

/**
 * Matches a route key: $default, METHOD /path or ANY /path. A path segment is text or {name}; the last segment may also
 * be {name+}.
 */
const routeKeys =
  /^(\$default|(ANY|DELETE|GET|HEAD|OPTIONS|PATCH|POST|PUT) \/((([^{}/\s]+|\{[\w.:-]+\})\/)*([^{}/\s]+|\{[\w.:-]+\+?\})?)?)$/;

/** Reads a route's key: https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-routes.html */
const readRouteKey = (route: Route): string => {
  const routeKey = route.text('RouteKey');
  if (routeKeys.test(routeKey)) return routeKey;
  const form = '$default, or as METHOD /path, with parameters as whole segments: {name}, or {name+} at the end';
  throw route.unsupported('RouteKey', routeKey, `Write it as ${form}.`);
};

/** Reads an integration: https://docs.aws.amazon.com/apigatewayv2/latest/api-reference/apis-apiid-integrations.html */
const readIntegration = (integration: IntegrationPart, findTarget: FindTarget): Integration => {
  integration.mustBe('IntegrationType', ['AWS_PROXY']);
  integration.mustBe('ConnectionType', ['INTERNET', undefined]);
  integration.mustBe('PayloadFormatVersion', ['2.0']);
  return {
    target: findTarget(integration, integration.text('IntegrationUri')),
    timeout: integration.number('TimeoutInMillis', 30_000, { min: 50, max: 30_000 }),
  };
};
