/** Tokens that the deployed authorizer must refuse, and unusual ones that it must accept. */
import { constants, createHmac, createPrivateKey, createPublicKey, createSign, type KeyObject } from 'node:crypto';
import { deflateRawSync } from 'node:zlib';
import type { Refusal } from '@lambda-service/runtime/auth';
import type { JWK } from 'jose';
import {
  assembleSigned,
  audience,
  inSeconds,
  makeKey,
  type SigningKey,
  sign,
  claims as validClaims,
} from '../tokens.ts';
import { createOperation } from '../under-test.ts';

const scope = createOperation.scopes.join(' ');

/**
 * Returns the claims of a token that the service accepts, changed by `change`. One that becomes undefined is left out.
 */
export const claims = (change: Record<string, unknown> = {}) => validClaims({ scope, ...change });

export type TokenIssuer = {
  issuer: string;
  /** A URL on the attacker's server, which no verifier may call. */
  foreignUrl: string;
  /**
   * The JWKs of the keys `bare…` have neither `alg` nor `use`. `stranger` is an attacker's key with the kid of `es`.
   */
  keys: Record<'es' | 'rs' | 'bareRs' | 'bareEs256' | 'stranger', SigningKey>;
};

export const makeTokenIssuer = async (issuer: string, foreignUrl: string): Promise<TokenIssuer> => {
  const [es, rs, bareRs, bareEs256, stranger] = await Promise.all([
    makeKey('ES256', 'es'),
    makeKey('RS256', 'rs'),
    makeKey('RS256', 'bare-rs'),
    makeKey('ES256', 'bare-es256'),
    makeKey('ES256', 'es'),
  ]);
  for (const { jwk } of [bareRs, bareEs256]) {
    delete jwk.alg;
    delete jwk.use;
  }
  return { issuer, foreignUrl, keys: { es, rs, bareRs, bareEs256, stranger } };
};

type MakeToken = (from: TokenIssuer) => Promise<string>;
type KeyName = keyof TokenIssuer['keys'];
type Forgery = [reason: Refusal, what: string, forge: MakeToken];

const publicKey = ({ jwk }: SigningKey): KeyObject =>
  createPublicKey({ key: jwk as JWK & { kty: string }, format: 'jwk' });

const privateKey = async ({ privateKey: key }: SigningKey): Promise<KeyObject> =>
  createPrivateKey({ key: Buffer.from(await crypto.subtle.exportKey('pkcs8', key)), format: 'der', type: 'pkcs8' });

const base64url = (value: Uint8Array | string): string => Buffer.from(value).toString('base64url');

/** Makes a token with this key, claims and header. A claim or header field that is undefined is left out. */
const signedBy =
  (name: KeyName, headerOf: (from: TokenIssuer) => object = () => ({}), change: object = {}): MakeToken =>
  (from) =>
    sign(from.keys[name], claims({ iss: from.issuer, ...change }), { ...headerOf(from) });

const withClaims = (change: object, header: object = {}): MakeToken => signedBy('es', () => header, change);

const issuedBy =
  (issuerOf: (issuer: string) => unknown): MakeToken =>
  (from) =>
    withClaims({ iss: issuerOf(from.issuer) })(from);

/** Makes a token signed with any digest and padding, whatever algorithm its header declares. */
const signedAs =
  (
    header: object,
    name: KeyName,
    digest: string,
    options: object = { padding: constants.RSA_PKCS1_PADDING, dsaEncoding: 'ieee-p1363' },
  ): MakeToken =>
  async ({ issuer, keys }) => {
    const key = await privateKey(keys[name]);
    return assembleSigned({ typ: 'at+jwt', ...header }, claims({ iss: issuer }), (input) =>
      createSign(digest)
        .update(input)
        .sign({ key, ...options }, 'base64url'),
    );
  };

const pss = { padding: constants.RSA_PKCS1_PSS_PADDING };

/** Makes a token signed with HMAC, whose secret is the issuer's public key, which anybody can know. */
const hmac =
  (alg: string): MakeToken =>
  ({ issuer, keys: { rs } }) =>
    assembleSigned({ typ: 'at+jwt', alg, kid: 'rs' }, claims({ iss: issuer }), (input) =>
      createHmac('sha256', publicKey(rs).export({ type: 'spki', format: 'pem' }))
        .update(input)
        .digest('base64url'),
    );

/** Makes a token signed by the issuer, with exactly these bytes as its header. */
const withHeaderText =
  (text: string | Uint8Array): MakeToken =>
  async ({ issuer, keys: { es } }) => {
    const input = `${base64url(text)}.${base64url(JSON.stringify(claims({ iss: issuer })))}`;
    const key = await privateKey(es);
    return `${input}.${createSign('SHA256').update(input).sign({ key, dsaEncoding: 'ieee-p1363' }, 'base64url')}`;
  };

/** Makes a token signed by the issuer, with a header that no library would sign. */
const withHeader = (change: object): MakeToken =>
  withHeaderText(JSON.stringify({ alg: 'ES256', kid: 'es', typ: 'at+jwt', ...change }));

/** Makes a token signed by the issuer. `textOf` turns a valid payload into the one to sign. */
const withPayload =
  (textOf: (payload: string) => string | Uint8Array, header: Record<string, unknown> = {}): MakeToken =>
  ({ issuer, keys: { es } }) =>
    sign(es, Buffer.from(textOf(JSON.stringify(claims({ iss: issuer })))), header);

/** Makes a token with one more claim, as JSON text. */
const withClaimText = (claim: string, value: string): MakeToken =>
  withPayload((payload) => `${payload.slice(0, -1)},"${claim}":${value}}`);

/** Makes a valid token, and changes one part: 0 is the header, 1 the payload, 2 the signature. */
const withPart =
  (index: number, change: (part: string) => string, name: KeyName = 'es'): MakeToken =>
  async (from) => {
    const parts = (await signedBy(name)(from)).split('.');
    return parts.with(index, change(parts[index] ?? '')).join('.');
  };

const withBytes = (index: number, change: (bytes: Buffer) => Uint8Array, name?: KeyName): MakeToken =>
  withPart(index, (part) => base64url(change(Buffer.from(part, 'base64url'))), name);

const withText = (index: number, search: string, replacement: string): MakeToken =>
  withBytes(index, (bytes) => Buffer.from(bytes.toString().replace(search, replacement)));

/** Changes the unused bits in the last character of a signature. The decoded bytes stay the same. */
const respelled = (signature: string): string =>
  signature.slice(0, -1) + { A: 'B', Q: 'R', g: 'h', w: 'x' }[signature.slice(-1)];

/** Makes a forgery of each value. */
const each = <T>(reason: Refusal, what: string, values: readonly T[], forge: (value: T) => MakeToken): Forgery[] =>
  values.map((value) => [reason, `${what} ${JSON.stringify(value)?.slice(0, 40)}`, forge(value)]);

const foreignKeys: [parameters: string, headerOf: (from: TokenIssuer) => object][] = [
  ['jwk', ({ keys: { stranger } }) => ({ jwk: stranger.jwk })],
  ['jku', ({ foreignUrl }) => ({ jku: foreignUrl })],
  ['x5u', ({ foreignUrl }) => ({ x5u: foreignUrl })],
  ['kid', ({ foreignUrl }) => ({ kid: foreignUrl })],
];

const otherScopes = ['other/read', `${scope}-all`, `x${scope}`, scope.toUpperCase(), `a\t${scope}`, '', undefined];

export const forgedTokens: readonly Forgery[] = [
  // Algorithms
  ...each('algorithm', 'the alg', ['none', 'None', '', '__proto__', 'es256', 'EdDSA', undefined], (alg) =>
    withHeader({ alg }),
  ),
  ...each('malformed', 'the alg', [null, ['ES256']], (alg) => withHeader({ alg })),
  ['algorithm', 'alg twice, the second one none', withHeaderText('{"alg":"ES256","alg":"none","kid":"es"}')],
  ['algorithm', 'HS256 with the public key in PEM as its secret', hmac('HS256')],
  ['signature', 'an HS256 signature under a header that says RS256', hmac('RS256')],
  ['algorithm', 'PS256 by a key without alg', signedAs({ alg: 'PS256', kid: 'bare-rs' }, 'bareRs', 'SHA256', pss)],
  ['signature', 'a PS256 signature under RS256', signedAs({ alg: 'RS256', kid: 'rs' }, 'rs', 'SHA256', pss)],
  ['signature', 'a SHA-1 signature under RS256', signedAs({ alg: 'RS256', kid: 'rs' }, 'rs', 'SHA1')],
  ['algorithm', 'an RS256 signature under ES256', signedAs({ alg: 'ES256', kid: 'bare-rs' }, 'bareRs', 'SHA256')],
  ['algorithm', 'RS256 by an elliptic key', signedAs({ alg: 'RS256', kid: 'bare-es256' }, 'bareEs256', 'SHA256')],
  ['algorithm', 'an RS256 token with the kid of an ES256 key', signedBy('rs', () => ({ kid: 'es' }))],
  // Keys
  ['signature', "another issuer's key under the same kid", signedBy('stranger')],
  ['signature', 'the kid of another key of the issuer', withClaims({}, { kid: 'bare-es256' })],
  ...each('unknown key', 'the kid', ['../../es', '__proto__', '', 'ES', 'es\0', undefined], (kid) =>
    withClaims({}, { kid }),
  ),
  ...each('malformed', 'the kid', [1, null, ['es']], (kid) => withHeader({ kid })),
  ...foreignKeys.map(
    ([what, headerOf]): Forgery => [
      'unknown key',
      `the header ${what} of an attacker`,
      signedBy('stranger', (from) => ({ kid: undefined, ...headerOf(from) })),
    ],
  ),
  ['signature', 'a jwk beside a known kid', signedBy('stranger', ({ keys: { stranger } }) => ({ jwk: stranger.jwk }))],
  ...each('critical extension', 'the crit', [['exp'], [], null], (crit) => withHeader({ crit })),
  ...each('critical extension', 'the b64', [true, false], (b64) => withHeader({ b64 })),
  // Signatures
  ...(['es', 'rs'] as const).flatMap((name): Forgery[] => [
    ['signature', `a signature of zeros (${name})`, withBytes(2, (bytes) => bytes.fill(0), name)],
    ['signature', `a truncated signature (${name})`, withBytes(2, (bytes) => bytes.subarray(0, -1), name)],
  ]),
  ['signature', 'a signature in DER', signedAs({ alg: 'ES256', kid: 'es' }, 'es', 'SHA256', {})],
  ['signature', 'a signature of 5,000 bytes', withBytes(2, () => Buffer.alloc(5_000, 1))],
  ['signature', 'another subject', withText(1, 'client-1', 'client-2')],
  ['unknown key', 'a changed kid', withText(0, '"es"', '"et"')],
  // Encodings
  ...[0, 1, 2].flatMap((index): Forgery[] => [
    ['no bearer token', `a line feed after part ${index}`, withPart(index, (part) => `${part}\n`)],
    ['not a signed JWT', `an empty part ${index}`, withPart(index, () => '')],
  ]),
  ['malformed', 'another base64url spelling of the same signature', withPart(2, respelled)],
  ['not a signed JWT', 'padding after the signature', withPart(2, (part) => `${part}=`)],
  ['encrypted token', 'five parts', async (from) => `${await signedBy('es')(from)}.x.x`],
  ...each('malformed', 'the header', ['nonsense', '[]', 'null', '\ufeff{"alg":"ES256","kid":"es"}'], withHeaderText),
  ['malformed', 'a header in Latin-1', withHeaderText(Buffer.from('{"alg":"ES256","kid":"es","x":"\xff"}', 'latin1'))],
  ...each('malformed', 'the payload', ['["x"]', 'null', '7', ' '], (text) => withPayload(() => text)),
  ['issuer', 'the payload {}', withPayload(() => '{}')],
  ['malformed', 'a payload after a byte order mark', withPayload((payload) => `\ufeff${payload}`)],
  ['malformed', 'a payload in UTF-16', withPayload((payload) => Buffer.from(payload, 'utf16le'))],
  ['malformed', 'a payload with text after it', withPayload((payload) => `${payload}{}`)],
  ['malformed', 'a compressed payload', withPayload((payload) => deflateRawSync(payload), { zip: 'DEF' })],
  // Purposes
  ...each('type', 'the typ', ['id+jwt', 'logout+jwt', 'at+jwt ', '', 1, null], (typ) => withClaims({}, { typ })),
  ...each('not an access token', 'the token_use', ['id', 'Access', ['access'], null], (use) =>
    withClaims({ token_use: use }),
  ),
  // Issuers
  ...each('issuer', 'the issuer', ['https://other.example', '', undefined], (iss) => withClaims({ iss })),
  ...each('issuer', 'the issuer, and after it', ['/', '@other.example', ' ', '\0', '#'], (end) =>
    issuedBy((issuer) => `${issuer}${end}`),
  ),
  ['malformed', 'the issuer in a list', issuedBy((issuer) => [issuer])],
  ['issuer', 'the claim iss twice, the second with another issuer', withClaimText('iss', '"https://other.example"')],
  // Audiences
  ...each(
    'audience',
    'the audience',
    [audience.toUpperCase(), `${audience}/`, '', undefined, [], ['urn:other']],
    (aud) => withClaims({ aud }),
  ),
  ...each('malformed', 'the audience', [[[audience]], [audience, 7], null], (aud) => withClaims({ aud })),
  // Times
  ['no expiry', 'no exp', withClaims({ exp: undefined })],
  ['expired', 'a past exp', withClaims({ exp: inSeconds(0) })],
  ...each('expired', 'an exp written as', ['0', '-1e300'], (exp) => withClaimText('exp', exp)),
  ...each('malformed', 'an exp written as', ['1e400', 'NaN', '"9999999999"', 'null'], (exp) =>
    withClaimText('exp', exp),
  ),
  ['not yet valid', 'an nbf in an hour', withClaims({ nbf: inSeconds(3_600), exp: inSeconds(7_200) })],
  ['not yet valid', 'an iat in an hour', withClaims({ iat: inSeconds(3_600), exp: inSeconds(7_200) })],
  ['malformed', 'an nbf written as text', withClaimText('nbf', '"0"')],
  // Scopes
  ...each('scope', 'the scope', otherScopes, (other) => withClaims({ scope: other })),
  ['scope', 'the scope in claims with other names', withClaims({ scope: undefined, scp: scope, scopes: [scope] })],
  ['scope', 'the scope in __proto__', withPayload((payload) => payload.replace('"scope":', '"__proto__":'))],
  ...each('scope', 'the scope', [[[scope]], [scope, 7], { [scope]: true }, null], (other) =>
    withClaims({ scope: other }),
  ),
  // Clients
  ...each('client', 'the client_id', ['client-2', 'CLIENT-1', '', ['client-1'], null, undefined], (id) =>
    withClaims({ client_id: id }),
  ),
  ...each('client', 'the other claim', ['azp', 'cid', 'appid'], (name) => withClaims({ [name]: 'client-2' })),
  ...each('malformed', 'the sub', [7, null], (sub) => withClaims({ sub })),
];

export const validTokens: readonly [what: string, make: MakeToken][] = [
  ['an ES256 signature', withClaims({})],
  ['an RS256 signature', signedBy('rs')],
  ['an RS256 signature by a key without alg', signedBy('bareRs')],
  ['an ES256 signature by a key without alg', signedBy('bareEs256')],
  ['several audiences and scopes', withClaims({ aud: ['urn:other', audience], scope: `x  ${scope} y` })],
  ['no iat or sub', withClaims({ iat: undefined, sub: undefined })],
  ['a list of scopes', withClaims({ scope: ['other/read', scope] })],
  ['a jti that is a number', withClaims({ jti: 7 })],
  // The times are made with the token, because a file may load this one long before it needs a token.
  [
    'times with fractions',
    (from) => withClaims({ iat: inSeconds(0) - 0.5, nbf: inSeconds(0) - 0.5, exp: inSeconds(60) + 0.5 })(from),
  ],
  ['unknown claims', withClaims({ groups: ['a', { b: [null] }], name: 'naïve 🌱', ['constructor']: 'x' })],
  ['a payload with white space', withPayload((payload) => `\n${JSON.stringify(JSON.parse(payload), null, 2)}\n`)],
  ['a header in another order and spelling', withHeaderText('{ "kid": "\\u0065s", "x": {}, "alg": "ES256" }')],
  // A verifier may ignore `jku` and `x5u` if it finds the key without them (RFC 7515 section 4.1).
  ['a jku and an x5u', signedBy('es', ({ foreignUrl }) => ({ jku: foreignUrl, x5u: foreignUrl }))],
  ['a length of 6,000 characters', withClaims({ note: 'x'.repeat(4_200) })],
];
