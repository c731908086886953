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

/** Reads an authorizer: https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-lambda-authorizer.html */
export const readAuthorizer = (
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
