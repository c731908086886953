/** Valid tokens in unusual forms, which must be accepted both by `verifyToken` and by the whole stack. */
import { audience, inSeconds, scope, sign } from './access-tokens.ts';
import {
  type MakeToken,
  p256Order,
  withChangedS,
  withClaims,
  withClaimText,
  withHeader,
  withPayload,
} from './token-variants.ts';

export const validTokens: readonly [what: string, make: MakeToken][] = [
  ['an ES256 signature', withClaims({})],
  ['an RS256 signature', ({ rs, claims }) => sign(rs, claims())],
  ['an RS256 signature by a key that names no algorithm', ({ bare, claims }) => sign(bare, claims())],
  ['an ES256 signature by a key that names no algorithm', ({ bareEs256, claims }) => sign(bareEs256, claims())],
  ['no typ, as from Cognito', withClaims({ token_use: 'access' }, { typ: undefined })],
  ['the typ JWT', withClaims({}, { typ: 'JWT' })],
  ['the typ application/at+jwt', withClaims({}, { typ: 'application/AT+JWT' })],
  ['several audiences, ours among them', withClaims({ aud: ['urn:other', audience] })],
  ['one audience in a list', withClaims({ aud: [audience] })],
  ['several scopes, ours among them', withClaims({ scope: `plants/read ${scope} openid` })],
  ['scopes with two spaces between', withClaims({ scope: `plants/read  ${scope}` })],
  ['no iat', withClaims({ iat: undefined })],
  ['an iat and nbf a little ahead', (from) => withClaims({ iat: inSeconds(50), nbf: inSeconds(50) })(from)],
  ['a past nbf', (from) => withClaims({ nbf: inSeconds(-1) })(from)],
  ['an exp with a fraction', (from) => withClaims({ exp: inSeconds(60) + 0.5 })(from)],
  ['an exp written as 9.9e9', withClaimText('exp', '9.9e9')],
  ['an exp of 1e300', withClaims({ exp: 1e300 })],
  ['no sub, client_id or jti', withClaims({ sub: undefined, client_id: undefined, jti: undefined })],
  ['unknown claims', withClaims({ groups: ['a', { b: [null] }], name: 'naïve 🌱', ['constructor']: 'x' })],
  ['a payload with white space', withPayload((payload) => `\n${JSON.stringify(JSON.parse(payload), null, 2)}\n`)],
  // If a claim is duplicated, a parser may use the last value, as JSON.parse does (RFC 7519 section 4).
  ['the claim scope twice, the second one ours', withPayload((payload) => `{"scope":"none",${payload.slice(1)}`)],
  ['a header in another order and spelling', withHeader('{ "kid": "\\u0065s", "x": {}, "alg": "ES256" }')],
  // A verifier may ignore `jku` and `x5u` if it finds the key without them (RFC 7515 section 4.1).
  [
    'a jku and an x5u, which nobody follows',
    ({ es, claims, foreignJwksUri }) => sign(es, claims(), { jku: foreignJwksUri, x5u: foreignJwksUri }),
  ],
  ['a length of 6,000 characters', withClaims({ note: 'x'.repeat(4_200) })],
  // If the ECDSA signature (r, s) is valid, so is (r, n - s), and JWS allows both.
  ['the other valid s of the same ECDSA signature', withChangedS((s) => p256Order - s)],
];
