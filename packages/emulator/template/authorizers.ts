import type { AuthorizerSpec } from '../served-stack.ts';
import { type Invocables, onlyByPermission } from './functions.ts';
import type { ServedTypes } from './resource-types.ts';
import type { Resource } from './resources.ts';

export const authorizerTypes = {
  'AWS::ApiGatewayV2::Authorizer': {
    read: [
      'ApiId',
      'AuthorizerPayloadFormatVersion',
      'AuthorizerResultTtlInSeconds',
      'AuthorizerType',
      'AuthorizerUri',
      'EnableSimpleResponses',
      'IdentitySource',
    ],
    // JwtConfiguration has no effect: only JWT authorizers use it, and authorizers with AuthorizerType JWT are refused.
    withoutEffect: ['JwtConfiguration', 'Name'],
    refused: { AuthorizerCredentialsArn: onlyByPermission },
  },
} as const satisfies ServedTypes;

const ttlProperty = 'AuthorizerResultTtlInSeconds';

/** Reads an authorizer: https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-lambda-authorizer.html */
export const readAuthorizer = (
  authorizer: Resource<'AWS::ApiGatewayV2::Authorizer'>,
  invocables: Invocables,
): AuthorizerSpec => {
  authorizer.mustBe('AuthorizerType', ['REQUEST'], 'Use a Lambda authorizer.');
  authorizer.mustBe('AuthorizerPayloadFormatVersion', ['2.0', '1.0'], 'Set it to 2.0 or 1.0.');
  authorizer.mustBe('EnableSimpleResponses', [true, false, undefined], 'Set it to true or false.');
  const isSimple = String(authorizer.get('EnableSimpleResponses')) === 'true';
  const format = authorizer.text('AuthorizerPayloadFormatVersion') === '1.0' ? '1.0' : '2.0';
  if (isSimple && format === '1.0')
    throw authorizer.refuse('its EnableSimpleResponses needs AuthorizerPayloadFormatVersion 2.0', 'Set it to 2.0.');
  const identitySources = authorizer.list('IdentitySource').map(String);
  for (const source of identitySources) {
    if (/^\$(request\.(header|querystring)\.[^\s.]+|context\.routeKey)$/.test(source)) continue;
    const advice = 'Use $request.header.NAME, $request.querystring.NAME or $context.routeKey.';
    throw authorizer.unsupported('IdentitySource', source, advice);
  }
  const ttl = authorizer.numberIn(ttlProperty, authorizer.get(ttlProperty), { min: 0, max: 3_600 });
  if (ttl > 0 && identitySources.length === 0)
    throw authorizer.refuse(`its ${ttlProperty} needs an IdentitySource`, 'Set it to 0 (in CDK: resultsCacheTtl).');
  const target = invocables.find(authorizer, authorizer.text('AuthorizerUri'));
  return { target, identitySources, format, isSimple, ttl: 1_000 * ttl };
};

export const readAuthorization = (
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
