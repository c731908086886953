import type { AuthorizerSpec, RouteSpec, Target, Throttle } from '../served-stack.ts';
import { Invocables } from './functions.ts';
import { type Resource, removeProperty } from './resource.ts';
import type { Resources } from './resources.ts';

type Integration = { target: Target; timeout: number };

/** Reads the routes of the API. @param throttleOf returns the throttle that the stage sets for a route key */
export const readRoutes = (
  resources: Resources,
  throttleOf: (routeKey: string) => Throttle | undefined,
): RouteSpec[] => {
  const invocables = new Invocables(resources);
  const integrations = new Map(
    resources
      .ofType('AWS::ApiGatewayV2::Integration')
      .map((each) => [each.logicalId, readIntegration(each, invocables)]),
  );
  const authorizers = new Map(
    resources.ofType('AWS::ApiGatewayV2::Authorizer').map((each) => [each.logicalId, readAuthorizer(each, invocables)]),
  );

  return resources.ofType('AWS::ApiGatewayV2::Route').map((route): RouteSpec => {
    const routeKey = readRouteKey(route);
    const target = route.text('Target');
    const integration = integrations.get(target.replace(/^integrations\//, ''));
    if (integration === undefined) {
      const reason = `its Target ${target} is not an integration of the template`;
      throw route.refuse(reason, 'Define that integration in the same stack.');
    }
    const authorizer = readAuthorization(route, authorizers);
    const throttle = throttleOf(routeKey);
    return { routeKey, ...integration, ...(authorizer && { authorizer }), ...(throttle && { throttle }) };
  });
};

/**
 * Matches a route key: $default, METHOD /path or ANY /path. A path segment is text or {name}; the last segment may also
 * be {name+}.
 */
const routeKeys =
  /^(\$default|(ANY|DELETE|GET|HEAD|OPTIONS|PATCH|POST|PUT) \/((([^{}/\s]+|\{[\w.:-]+\})\/)*([^{}/\s]+|\{[\w.:-]+\+?\})?)?)$/;

/** Reads a route's key: https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-routes.html */
const readRouteKey = (route: Resource<'AWS::ApiGatewayV2::Route'>): string => {
  const routeKey = route.text('RouteKey');
  if (routeKeys.test(routeKey)) return routeKey;
  const form = '$default, or as METHOD /path, with parameters as whole segments: {name}, or {name+} at the end';
  throw route.unsupported('RouteKey', routeKey, `Write it as ${form}.`);
};

const readAuthorization = (
  route: Resource<'AWS::ApiGatewayV2::Route'>,
  authorizers: Map<string, AuthorizerSpec>,
): AuthorizerSpec | undefined => {
  if (route.text('AuthorizationType', 'NONE') === 'NONE') return undefined;
  route.mustBe('AuthorizationType', ['CUSTOM'], 'Use a Lambda authorizer, or NONE.');
  const authorizer = authorizers.get(route.text('AuthorizerId'));
  if (authorizer) return authorizer;
  const reason = 'its AuthorizerId is not an authorizer of the template';
  throw route.refuse(reason, 'Define that authorizer in the same stack.');
};

/** Reads an integration: https://docs.aws.amazon.com/apigatewayv2/latest/api-reference/apis-apiid-integrations.html */
const readIntegration = (
  integration: Resource<'AWS::ApiGatewayV2::Integration'>,
  invocables: Invocables,
): Integration => {
  integration.mustBe('IntegrationType', ['AWS_PROXY'], 'Integrate a Lambda function (in CDK: HttpLambdaIntegration).');
  integration.mustBe('ConnectionType', ['INTERNET', undefined], removeProperty);
  integration.mustBe('PayloadFormatVersion', ['2.0'], 'Set it to 2.0.');
  return {
    target: invocables.find(integration, integration.text('IntegrationUri')),
    timeout: integration.number('TimeoutInMillis', 30_000, { min: 50, max: 30_000 }),
  };
};

/** Reads an authorizer: https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-lambda-authorizer.html */
const readAuthorizer = (
  authorizer: Resource<'AWS::ApiGatewayV2::Authorizer'>,
  invocables: Invocables,
): AuthorizerSpec => {
  authorizer.mustBe('AuthorizerType', ['REQUEST'], 'Use a Lambda authorizer.');
  authorizer.mustBe('AuthorizerPayloadFormatVersion', ['2.0'], 'Set it to 2.0.');
  authorizer.mustBe(
    'EnableSimpleResponses',
    [true],
    'Set it to true (in CDK: responseTypes), and return isAuthorized instead of a policy.',
  );
  authorizer.mustBe('AuthorizerResultTtlInSeconds', [0], 'Set it to 0 (in CDK: resultsCacheTtl).');
  const identitySources = authorizer.list('IdentitySource').map(String);
  for (const source of identitySources) {
    if (/^\$request\.(header|querystring)\.[^\s.]+$/.test(source)) continue;
    const advice = 'Use $request.header.NAME or $request.querystring.NAME.';
    throw authorizer.unsupported('IdentitySource', source, advice);
  }
  return { target: invocables.find(authorizer, authorizer.text('AuthorizerUri')), identitySources };
};
