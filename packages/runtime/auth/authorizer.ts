import type { APIGatewayRequestAuthorizerEventV2, APIGatewaySimpleAuthorizerResult } from 'aws-lambda';
import { fromEnvironment } from '../environment.ts';
import { bearerToken } from './bearer-token.ts';
import { issuerKeys } from './issuer-keys.ts';
import { type Verdict, verifyToken } from './verify-token.ts';

type AuthorizerResult = APIGatewaySimpleAuthorizerResult & { context?: Record<string, string> };

/**
 * Makes the handler of a Lambda authorizer. Each route (`POST /orders`) is allowed to tokens with all of its scopes. The
 * handler throws, and the gateway answers 500, only if the issuer's keys cannot be fetched.
 * @throws Error that names a missing variable: ISSUER, JWKS_URI, AUDIENCE, CLIENT_IDS or SCOPE_CLAIM
 * @example export const handler = tokenAuthorizer({ 'POST /orders': ['orders/create'] });
 */
export const tokenAuthorizer = (scopes: Readonly<Record<string, readonly string[]>>) => {
  const keys = issuerKeys(fromEnvironment('JWKS_URI'));
  const audience = fromEnvironment('AUDIENCE');
  const clientIds = fromEnvironment('CLIENT_IDS');
  const rules = {
    issuer: fromEnvironment('ISSUER'),
    // AUDIENCE is `none` if the stack creates its issuer, or with the setting `audience=none`.
    audience: audience === 'none' ? null : audience,
    // CLIENT_IDS is `any` with the setting `clientIds=any`, or without that setting if `audience` is checked.
    clientIds: clientIds === 'any' ? null : clientIds.split(','),
    scopeClaims: fromEnvironment('SCOPE_CLAIM').split(','),
  };

  const verdictOn = async ({ routeKey, headers }: APIGatewayRequestAuthorizerEventV2): Promise<Verdict> => {
    if (!Object.hasOwn(scopes, routeKey)) return { refused: 'unknown route' };
    const bearer = bearerToken(headers?.['authorization']);
    if ('refused' in bearer) return bearer;
    return verifyToken(bearer.token, { ...rules, requiredScopes: scopes[routeKey] ?? [] }, keys);
  };

  return async (event: APIGatewayRequestAuthorizerEventV2): Promise<AuthorizerResult> => {
    const gatewayRequestId = event.requestContext.requestId;
    const verdict = await verdictOn(event).catch((error: Error) => {
      // Lambda logs all fields of a thrown error.
      throw Object.assign(error, { gatewayRequestId, bundle: process.env['BUNDLE_SHA256'] });
    });
    if ('refused' in verdict) {
      console.info({ outcome: 'refused', reason: verdict.refused, gatewayRequestId });
      return { isAuthorized: false };
    }
    const { claims, clientId, scopes: granted } = verdict;
    console.info({ outcome: 'allowed', gatewayRequestId });
    return {
      isAuthorized: true,
      // The context may contain only strings.
      context: { sub: claims.sub ?? '', clientId, scope: granted.join(' ') },
    };
  };
};
