import * as jose from 'jose';
import type { JwtAuthorizerSpec } from '../served-stack.ts';
import type { Authorize, Clock } from './lambda-authorizer.ts';
import { identityOf } from './request.ts';
import { isObject, Refused, responses } from './response.ts';

/** AWS documents "RSA-based algorithms" without names. It names these three, and none of RSA-PSS, for REST APIs. */
const algorithms = ['RS256', 'RS384', 'RS512'];

/**
 * How long API Gateway waits for an issuer, and how long it may keep the keys, in milliseconds:
 * https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-quotas.html
 */
const [timeoutDuration, cacheMaxAge] = [1_500, 7_200_000];

/**
 * Checks tokens: https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-jwt-authorizer.html
 * Their refusals are as in .../http-api-troubleshooting-jwt.html, but most descriptions are those of jose.
 */
export const jwtAuthorizer = (spec: JwtAuthorizerSpec, clock: Clock): Authorize => {
  const { issuer, audience, identitySource } = spec;
  let keys: Promise<jose.JWTVerifyGetKey> | undefined;

  const findKey: jose.JWTVerifyGetKey = async (header, jws) => {
    // Without a kid, jose would take any key.
    if (header.kid === undefined) throw new jose.errors.JWKSNoMatchingKey();
    keys ??= loadKeys(spec);
    try {
      return await (await keys)(header, jws);
    } catch (error) {
      if (!(error instanceof jose.errors.JOSEError)) keys = undefined;
      throw error;
    }
  };

  const verify = async (token: string): Promise<jose.JWTPayload> => {
    if (token.split('.').length !== 3) throw new Error('token contains an invalid number of segments');
    const options = { algorithms, issuer, requiredClaims: ['exp'], currentDate: new Date(clock()) };
    const { payload } = await jose.jwtVerify(token, findKey, options);
    const { aud, client_id, iat = 0 } = payload;
    // jose checks iat only if the token's age is limited.
    if (iat * 1_000 > clock()) throw new Error('the token was issued in the future');
    const audiences: unknown[] = [aud === undefined ? client_id : aud].flat();
    if (!audience.some((each) => audiences.includes(each))) throw new Error('the token does not have a valid audience');
    return payload;
  };

  return async (event, { scopes = [] }) => {
    const identity = identityOf(event, identitySource);
    if (identity === undefined) throw refusal('unauthorized', 'Bearer', 'the token is missing');
    const challenge = `Bearer scope="${scopes.join(' ')}"`;
    const claims = await verify(identity.replace(/^Bearer /, '')).catch((error: Error) => {
      const description = error.message.replace(/[^ !#-~]/g, "'");
      // The causes of jose's own errors may quote the token.
      const cause = error instanceof jose.errors.JOSEError ? undefined : error.cause;
      const reason = cause instanceof Error ? `${description}: ${cause.message}` : description;
      throw refusal('unauthorized', `${challenge} error="invalid_token" error_description="${description}"`, reason);
    });
    const granted = scopesOf(claims);
    if (scopes.length > 0 && !scopes.some((scope) => granted.includes(scope)))
      throw refusal('forbidden', `${challenge} error="insufficient_scope"`, 'the token has no scope of the route');
    return { jwt: { claims: textsOf(claims), scopes: scopes.length > 0 ? granted : null } };
  };
};

const loadKeys = async ({ issuer, jwks }: JwtAuthorizerSpec): Promise<jose.JWTVerifyGetKey> => {
  if (jwks) return jose.createLocalJWKSet(jwks);
  const url = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
  const signal = AbortSignal.timeout(timeoutDuration);
  const response = await fetchOr('OIDC discovery endpoint communication error')(url, { signal });
  const document: unknown = await response.json();
  const [keys, fetchKeys] = [isObject(document) && document['jwks_uri'], fetchOr('JWKS communication error')];
  return jose.createRemoteJWKSet(new URL(`${keys}`), { timeoutDuration, cacheMaxAge, [jose.customFetch]: fetchKeys });
};

/** Makes a `fetch` that rejects with `message`, which are the words of AWS, unless the response is a success. */
const fetchOr =
  (message: string): typeof fetch =>
  async (...request) => {
    try {
      const response = await fetch(...request);
      if (response.ok) return response;
      throw new Error(`${response.url} responds with ${response.status}`);
    } catch (cause) {
      throw new Error(message, { cause });
    }
  };

const refusal = (kind: 'unauthorized' | 'forbidden', challenge: string, reason: string): Refused => {
  const response = responses[kind];
  const headers = { ...response.headers, 'www-authenticate': challenge };
  return new Refused({ ...response, headers }, `JWT authorizer: ${reason}`);
};

const scopesOf = ({ scope, scp }: jose.JWTPayload): unknown[] => {
  const scopes = scope ?? scp ?? [];
  return typeof scopes === 'string' ? scopes.split(' ') : [scopes].flat();
};

/**
 * Converts claims to text. AWS does not document how. Events captured on AWS show it, except for objects:
 * https://github.com/floci-io/floci/pull/2011
 */
const textsOf = (claims: jose.JWTPayload): Record<string, string> => {
  const present = Object.entries(claims).filter(([, claim]) => claim !== null);
  return Object.fromEntries(present.map(([name, claim]) => [name, textOf(claim)]));
};

const textOf = (claim: unknown): string => {
  if (Array.isArray(claim)) return `[${claim.map(textOf).join(' ')}]`;
  return isObject(claim) ? JSON.stringify(claim) : String(claim);
};
