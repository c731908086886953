/** Tokens that the deployed authorizer must refuse, and unusual ones that it must accept. */
import { constants, createHmac, createPrivateKey, createPublicKey, createSign, type KeyObject } from 'node:crypto';
import { deflateRawSync } from 'node:zlib';
import type { JWK } from 'jose';
import type { Refusal } from '../../functions/auth/unverified-token.ts';
import { assembleSigned, audience, claims, inSeconds, makeKey, type SigningKey, scope, sign } from './access-tokens.ts';

export type TokenIssuer = {
  issuer: string;
  /** A URL on the attacker's server, which no verifier may call. */
  foreignUrl: string;
  /** The JWKs of the keys `bare…` have neither `alg` nor `use`. `stranger` is an attacker's key with the kid of `es`. */
  keys: Record<'es' | 'rs' | 'bareRs' | 'bareEs384' | 'bareEs256' | 'stranger', SigningKey>;
};

export const makeTokenIssuer = async (issuer: string, foreignUrl: string): Promise<TokenIssuer> => {
  const [es, rs, bareRs, bareEs384, bareEs256, stranger] = await Promise.all([
    makeKey('ES256', 'es'),
    makeKey('RS256', 'rs'),
    makeKey('RS256', 'bare-rs'),
    makeKey('ES384', 'bare-es384'),
    makeKey('ES256', 'bare-es256'),
    makeKey('ES256', 'es'),
  ]);
  for (const { jwk } of [bareRs, bareEs384, bareEs256]) {
    delete jwk.alg;
    delete jwk.use;
  }
  return { issuer, foreignUrl, keys: { es, rs, bareRs, bareEs384, bareEs256, stranger } };
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

/** Makes a token signed with HMAC and a secret that anybody can know, such as a public key. */
const hmac =
  (header: object, secretOf: (keys: TokenIssuer['keys']) => string | Buffer): MakeToken =>
  ({ issuer, keys }) =>
    assembleSigned({ typ: 'at+jwt', ...header }, claims({ iss: issuer }), (input) =>
      createHmac('sha256', secretOf(keys)).update(input).digest('base64url'),
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

/** The order of the P-256 group (NIST SP 800-186). */
const p256Order = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;

/** Replaces r and s, the two halves of an ES256 signature (RFC 7518 section 3.4). */
const withRAndS = (change: (r: bigint, s: bigint) => [r: bigint, s: bigint]): MakeToken =>
  withBytes(2, (bytes) => {
    const halves = [bytes.toString('hex', 0, 32), bytes.toString('hex', 32)].map((half) => BigInt(`0x${half}`));
    const changed = change(halves[0] ?? 0n, halves[1] ?? 0n);
    return Buffer.from(changed.map((half) => half.toString(16).padStart(64, '0')).join(''), 'hex');
  });

/** Changes the unused bits in the last character of a signature. The decoded bytes stay the same. */
const respelled = (signature: string): string =>
  signature.slice(0, -1) + { A: 'B', Q: 'R', g: 'h', w: 'x' }[signature.slice(-1)];

/** Makes a forgery of each value. */
const each = <T>(reason: Refusal, what: string, values: readonly T[], forge: (value: T) => MakeToken): Forgery[] =>
  values.map((value) => [reason, `${what} ${JSON.stringify(value)?.slice(0, 40)}`, forge(value)]);

const algorithms: Forgery[] = [
  ...each('algorithm', 'the alg', ['none', 'None', '', '__proto__', 'es256', 'ES256K', 'EdDSA', undefined], (alg) =>
    withHeader({ alg }),
  ),
  ...each('malformed', 'the alg', [null, 7, ['ES256']], (alg) => withHeader({ alg })),
  ['algorithm', 'alg twice, the second one none', withHeaderText('{"alg":"ES256","alg":"none","kid":"es"}')],
  [
    'algorithm',
    'HS256 with the public key in PEM as its secret',
    hmac({ alg: 'HS256', kid: 'rs' }, ({ rs }) => publicKey(rs).export({ type: 'spki', format: 'pem' })),
  ],
  [
    'signature',
    'an HS256 signature under a header that says RS256',
    hmac({ alg: 'RS256', kid: 'rs' }, ({ rs }) => publicKey(rs).export({ type: 'spki', format: 'pem' })),
  ],
  ['algorithm', 'PS256 by a key without alg', signedAs({ alg: 'PS256', kid: 'bare-rs' }, 'bareRs', 'SHA256', pss)],
  ['signature', 'a PS256 signature under RS256', signedAs({ alg: 'RS256', kid: 'rs' }, 'rs', 'SHA256', pss)],
  ['signature', 'a SHA-1 signature under RS256', signedAs({ alg: 'RS256', kid: 'rs' }, 'rs', 'SHA1')],
  ['algorithm', 'RS384 by a key for RS256', signedAs({ alg: 'RS384', kid: 'rs' }, 'rs', 'SHA384')],
  ['algorithm', 'ES384', signedAs({ alg: 'ES384', kid: 'bare-es384' }, 'bareEs384', 'SHA384')],
  ['unknown key', 'ES256 by a P-384 key', signedAs({ alg: 'ES256', kid: 'bare-es384' }, 'bareEs384', 'SHA256')],
  ['algorithm', 'an RS256 signature under ES256', signedAs({ alg: 'ES256', kid: 'bare-rs' }, 'bareRs', 'SHA256')],
  ['algorithm', 'RS256 by an elliptic key', signedAs({ alg: 'RS256', kid: 'bare-es256' }, 'bareEs256', 'SHA256')],
  ['algorithm', 'an RS256 token with the kid of an ES256 key', signedBy('rs', () => ({ kid: 'es' }))],
];

const foreignKeys: [parameters: string, headerOf: (from: TokenIssuer) => object][] = [
  ['jwk', ({ keys: { stranger } }) => ({ jwk: stranger.jwk })],
  ['jku', ({ foreignUrl }) => ({ jku: foreignUrl })],
  ['x5u', ({ foreignUrl }) => ({ x5u: foreignUrl })],
  ['x5c', ({ keys: { stranger } }) => ({ x5c: [base64url(JSON.stringify(stranger.jwk))] })],
];

const kids = ['../../es', "es' OR '1'='1", '__proto__', '', 'ES', ' es', 'es\0', 'ｅｓ', '*', 'k'.repeat(4_000)];

const keys: Forgery[] = [
  ['signature', "another issuer's key under the same kid", signedBy('stranger')],
  ['signature', 'the kid of another key of the issuer', withClaims({}, { kid: 'bare-es256' })],
  ...each('unknown key', 'the kid', [...kids, undefined], (kid) => withClaims({}, { kid })),
  ...each('malformed', 'the kid', [1, null, ['es'], { es: 'es' }], (kid) => withHeader({ kid })),
  ['unknown key', 'a kid that is a URL', signedBy('stranger', ({ foreignUrl }) => ({ kid: foreignUrl }))],
  ...foreignKeys.flatMap(([what, headerOf]): Forgery[] => [
    ['signature', `the header ${what} beside a known kid`, signedBy('stranger', headerOf)],
    [
      'unknown key',
      `the header ${what} instead of a kid`,
      signedBy('stranger', (from) => ({ ...headerOf(from), kid: undefined })),
    ],
  ]),
  ...each('critical extension', 'the crit', [['exp'], ['x-mine'], [], null, 'exp'], (crit) => withHeader({ crit })),
  ...each('critical extension', 'the b64', [true, false], (b64) => withHeader({ b64 })),
];

const signatures: Forgery[] = [
  ['signature', 'r and s of 0', withRAndS(() => [0n, 0n])],
  ['signature', 'r and s of 1', withRAndS(() => [1n, 1n])],
  ['signature', "r and s of the curve's order", withRAndS(() => [p256Order, p256Order])],
  ['signature', 'r and s swapped', withRAndS((r, s) => [s, r])],
  ['signature', 'a truncated signature', withBytes(2, (bytes) => bytes.subarray(0, -1))],
  ['signature', 'a signature repeated twice', withBytes(2, (bytes) => Buffer.concat([bytes, bytes]))],
  ['signature', 'a signature in DER', signedAs({ alg: 'ES256', kid: 'es' }, 'es', 'SHA256', {})],
  ['signature', 'an RSA signature of zeros', withBytes(2, (bytes) => bytes.fill(0), 'rs')],
  ['signature', 'a truncated RSA signature', withBytes(2, (bytes) => bytes.subarray(0, -1), 'rs')],
  [
    'signature',
    'an RSA signature after a zero',
    withBytes(2, (bytes) => Buffer.concat([Buffer.alloc(1), bytes]), 'rs'),
  ],
  ...each('signature', 'a signature of so many bytes:', [1, 65, 5_000], (size) =>
    withBytes(2, () => Buffer.alloc(size, 1)),
  ),
  ['signature', 'another subject', withText(1, 'client-1', 'client-2')],
  ['unknown key', 'a changed kid', withText(0, '"es"', '"et"')],
];

const encodings: Forgery[] = [
  ...[0, 1, 2].flatMap((index): Forgery[] => [
    ['no bearer token', `a line feed after part ${index}`, withPart(index, (part) => `${part}\n`)],
    ['no bearer token', `a full-width letter in part ${index}`, withPart(index, (part) => `ｅ${part.slice(1)}`)],
    ['not a signed JWT', `an empty part ${index}`, withPart(index, () => '')],
  ]),
  ['malformed', 'another base64url spelling of the same signature', withPart(2, respelled)],
  ['not a signed JWT', 'padding after the signature', withPart(2, (part) => `${part}=`)],
  ['not a signed JWT', 'a fourth part', async (from) => `${await signedBy('es')(from)}.x`],
  ['encrypted token', 'five parts', async (from) => `${await signedBy('es')(from)}.x.x`],
  ...each('malformed', 'the header', ['nonsense', '[]', 'null', '\ufeff{"alg":"ES256","kid":"es"}'], withHeaderText),
  ...['\xff', '\xc0\xaf'].map((bytes): Forgery => {
    const header = Buffer.from(`{"alg":"ES256","kid":"es","note":"${bytes}"}`, 'latin1');
    return ['malformed', `a header with the bytes ${header.toString('hex', 32, 34)}`, withHeaderText(header)];
  }),
  ...each('malformed', 'the payload', ['["x"]', 'null', '"x"', '7', ' '], (text) => withPayload(() => text)),
  ['issuer', 'the payload {}', withPayload(() => '{}')],
  ['malformed', 'a payload after a byte order mark', withPayload((payload) => `\ufeff${payload}`)],
  ['malformed', 'a payload in UTF-16', withPayload((payload) => Buffer.from(payload, 'utf16le'))],
  [
    'malformed',
    'a payload in Latin-1',
    withPayload((payload) => Buffer.from(payload.replace('client-1', 'é'), 'latin1')),
  ],
  ['malformed', 'a payload with text after it', withPayload((payload) => `${payload}{}`)],
  ['malformed', 'a compressed payload', withPayload((payload) => deflateRawSync(payload), { zip: 'DEF' })],
];

const purposes: Forgery[] = [
  ...each('type', 'the typ', ['id+jwt', 'logout+jwt', 'JWE', 'at+jwt ', '', 1, null, ['at+jwt']], (typ) =>
    withClaims({}, { typ }),
  ),
  ...each('not an access token', 'the token_use', ['id', 'refresh', 'Access', ['access'], null, ''], (use) =>
    withClaims({ token_use: use }),
  ),
  ['audience', 'an ID token', withClaims({ aud: 'client-1', nonce: 'n', scope: undefined }, { typ: 'JWT' })],
];

const issuers: Forgery[] = [
  ...each('issuer', 'the issuer', ['https://other.example', '', undefined], (iss) => withClaims({ iss })),
  ...each('issuer', 'the issuer, and after it', ['/', '/other', '@other.example', ' ', '\0', '\u200b', '#'], (end) =>
    issuedBy((issuer) => `${issuer}${end}`),
  ),
  ['issuer', 'the issuer in capitals', issuedBy((issuer) => issuer.toUpperCase())],
  ['issuer', 'the issuer over http', issuedBy((issuer) => issuer.replace('https', 'http'))],
  ['malformed', 'the issuer in a list', issuedBy((issuer) => [issuer])],
  ['issuer', 'the claim iss twice, the second with another issuer', withClaimText('iss', '"https://other.example"')],
];

const audiences: Forgery[] = [
  ...each(
    'audience',
    'the audience',
    [
      'urn:other',
      audience.toUpperCase(),
      `${audience}/`,
      `urn:other ${audience}`,
      '',
      undefined,
      [],
      ['urn:other', ''],
    ],
    (aud) => withClaims({ aud }),
  ),
  ...each('malformed', 'the audience', [[[audience]], [audience, 7], { [audience]: audience }, null], (aud) =>
    withClaims({ aud }),
  ),
];

const times: Forgery[] = [
  ['no expiry', 'no exp', withClaims({ exp: undefined })],
  ['expired', 'a past exp', withClaims({ exp: inSeconds(0) })],
  ...each('expired', 'an exp written as', ['0', '-1e300', '1e-400'], (exp) => withClaimText('exp', exp)),
  ...each('malformed', 'an exp written as', ['1e400', 'NaN', '"9999999999"', '[9999999999]', 'null', 'true'], (exp) =>
    withClaimText('exp', exp),
  ),
  ['not yet valid', 'an nbf in an hour', withClaims({ nbf: inSeconds(3_600), exp: inSeconds(7_200) })],
  ['not yet valid', 'an iat in an hour', withClaims({ iat: inSeconds(3_600), exp: inSeconds(7_200) })],
  ...each('malformed', 'an nbf written as', ['1e400', '"0"'], (nbf) => withClaimText('nbf', nbf)),
  ['malformed', 'an iat of null', withClaims({ iat: null })],
];

const otherScopes = [
  'plants/read',
  `${scope}-all`,
  `x${scope}`,
  'plants/*',
  scope.toUpperCase(),
  `a\t${scope}`,
  `${scope}\0`,
  '',
  ' ',
];

const scopes: Forgery[] = [
  ...each('scope', 'the scope', [...otherScopes, undefined], (other) => withClaims({ scope: other })),
  ['scope', 'the scope in claims with other names', withClaims({ scope: undefined, scp: scope, scopes: [scope] })],
  ['scope', 'the scope in __proto__', withPayload((payload) => payload.replace('"scope":', '"__proto__":'))],
  ...each('malformed', 'the scope', [[scope], [[scope]], { [scope]: true }, null, 7], (other) =>
    withClaims({ scope: other }),
  ),
  ...each('malformed', 'the sub', [7, null, ['a']], (sub) => withClaims({ sub })),
];

export const forgedTokens: readonly Forgery[] = [
  ...algorithms,
  ...keys,
  ...signatures,
  ...encodings,
  ...purposes,
  ...issuers,
  ...audiences,
  ...times,
  ...scopes,
];

export const validTokens: readonly [what: string, make: MakeToken][] = [
  ['an ES256 signature', withClaims({})],
  ['an RS256 signature', signedBy('rs')],
  ['an RS256 signature by a key without alg', signedBy('bareRs')],
  ['an ES256 signature by a key without alg', signedBy('bareEs256')],
  [
    'several audiences and scopes, ours among them',
    withClaims({ aud: ['urn:other', audience], scope: `x  ${scope} y` }),
  ],
  [
    'no iat, sub, client_id or jti',
    withClaims({ iat: undefined, sub: undefined, client_id: undefined, jti: undefined }),
  ],
  ['an exp written as 9.9e9', withClaimText('exp', '9.9e9')],
  ['unknown claims', withClaims({ groups: ['a', { b: [null] }], name: 'naïve 🌱', ['constructor']: 'x' })],
  ['a payload with white space', withPayload((payload) => `\n${JSON.stringify(JSON.parse(payload), null, 2)}\n`)],
  ['a header in another order and spelling', withHeaderText('{ "kid": "\\u0065s", "x": {}, "alg": "ES256" }')],
  // A verifier may ignore `jku` and `x5u` if it finds the key without them (RFC 7515 section 4.1).
  ['a jku and an x5u', signedBy('es', ({ foreignUrl }) => ({ jku: foreignUrl, x5u: foreignUrl }))],
  ['a length of 6,000 characters', withClaims({ note: 'x'.repeat(4_200) })],
  // If the ECDSA signature (r, s) is valid, so is (r, n - s), and JWS allows both.
  ['the other valid s of the same signature', withRAndS((r, s) => [r, p256Order - s])],
];
