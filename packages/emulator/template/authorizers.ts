import type { AuthorizerSpec, JwtAuthorizerSpec, JwtIssuer, LambdaAuthorizerSpec, RouteSpec } from '../served-stack.ts';
import type { FindTarget } from './functions.ts';
import type { Resource } from './resource.ts';
import { UnknownValue } from './template.ts';

type Authorizer = Resource<'AWS::ApiGatewayV2::Authorizer'>;

const ttlProperty = 'AuthorizerResultTtlInSeconds';

/**
 * Reads an authorizer: https://docs.aws.amazon.com/apigatewayv2/latest/api-reference/apis-apiid-authorizers.html
 * @param jwt is the issuer that takes the place of one that is unknown here
 */
export const readAuthorizer = (authorizer: Authorizer, findTarget: FindTarget, jwt?: JwtIssuer): AuthorizerSpec => {
  authorizer.mustBe('AuthorizerType', ['REQUEST', 'JWT']);
  const isJwt = authorizer.text('AuthorizerType') === 'JWT';
  return isJwt ? readJwtAuthorizer(authorizer, jwt) : readLambdaAuthorizer(authorizer, findTarget);
};

const readIdentitySources = (authorizer: Authorizer): string[] => {
  const identitySources = authorizer.texts('IdentitySource');
  for (const source of identitySources) {
    if (/^\$(request\.(header|querystring)\.[^\s.]+|context\.routeKey)$/.test(source)) continue;
    const advice = 'Use $request.header.NAME, $request.querystring.NAME or $context.routeKey.';
    throw authorizer.unsupported('IdentitySource', source, advice);
  }
  return identitySources;
};

const readLambdaAuthorizer = (authorizer: Authorizer, findTarget: FindTarget): LambdaAuthorizerSpec => {
  authorizer.mustBe('AuthorizerPayloadFormatVersion', ['2.0', '1.0']);
  authorizer.mustBe('EnableSimpleResponses', [true, false, undefined]);
  const isSimple = String(authorizer.get('EnableSimpleResponses')) === 'true';
  const format = authorizer.text('AuthorizerPayloadFormatVersion') === '1.0' ? '1.0' : '2.0';
  if (isSimple && format === '1.0')
    throw authorizer.refuse('its EnableSimpleResponses needs AuthorizerPayloadFormatVersion 2.0', 'Set it to 2.0.');
  const identitySources = readIdentitySources(authorizer);
  const ttl = authorizer.numberIn(ttlProperty, authorizer.get(ttlProperty), { min: 0, max: 3_600 });
  if (ttl > 0 && identitySources.length === 0)
    throw authorizer.refuse(`its ${ttlProperty} needs an IdentitySource`, 'Set it to 0 (in CDK: resultsCacheTtl).');
  const target = findTarget(authorizer, authorizer.text('AuthorizerUri'));
  return { target, identitySources, format, isSimple, ttl: 1_000 * ttl };
};

const passJwt =
  'pass `jwt: { issuer, audience, jwks }` (the command: --options), which says whose tokens are accepted here';

const readJwtAuthorizer = (authorizer: Authorizer, jwt?: JwtIssuer): JwtAuthorizerSpec => {
  const path = 'JwtConfiguration';
  const { Issuer, Audience } = authorizer.fields(path, authorizer.raw(path), ['Audience', 'Issuer']);
  /** Evaluates a part of the configuration. If it depends on something unknown, such as a user pool, `jwt` has it. */
  const read = (name: string, part: unknown, otherwise: unknown): unknown => {
    try {
      return authorizer.evaluateKnown(`${path}.${name}`, part);
    } catch (error) {
      if (!(error instanceof UnknownValue)) throw error;
      if (otherwise !== undefined) return otherwise;
      throw authorizer.refuse(`${error.reason}: ${passJwt}`);
    }
  };
  const issuer = authorizer.textIn(`${path}.Issuer`, read('Issuer', Issuer, jwt?.issuer));
  const audiences = [Audience ?? []].flat().flatMap((each) => read('Audience', each, jwt?.audience));
  const audience = authorizer.textsIn(`${path}.Audience`, audiences);
  const [identitySource, ...others] = readIdentitySources(authorizer);
  if (identitySource === undefined || others.length > 0 || identitySource === '$context.routeKey')
    throw authorizer.refuse('it needs exactly one IdentitySource, a header or a query parameter with the token');
  if (issuer === jwt?.issuer) return { ...jwt, audience, identitySource };
  if (/^https:/.test(issuer)) return { issuer, audience, identitySource };
  throw authorizer.refuse(`its ${path}.Issuer ${JSON.stringify(issuer)} is not known here: ${passJwt}`);
};

/** Reads who may call a route: https://docs.aws.amazon.com/apigatewayv2/latest/api-reference/apis-apiid-routes.html */
export const readAuthorization = (
  route: Resource<'AWS::ApiGatewayV2::Route'>,
  authorizers: Map<string, AuthorizerSpec>,
): Pick<RouteSpec, 'authorizer' | 'scopes'> => {
  const type = route.text('AuthorizationType', 'NONE');
  if (type === 'NONE') return {};
  route.mustBe('AuthorizationType', ['CUSTOM', 'JWT']);
  const authorizer = authorizers.get(route.text('AuthorizerId'));
  if (authorizer === undefined) throw route.refuse('its AuthorizerId is not an authorizer of the template');
  route.mustBe('AuthorizationType', [authorizer.target ? 'CUSTOM' : 'JWT']);
  return authorizer.target ? { authorizer } : { authorizer, scopes: route.texts('AuthorizationScopes') };
};
