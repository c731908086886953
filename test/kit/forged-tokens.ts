/** Tokens that must be refused both by `verifyToken` and by the whole stack, each with the reason. */
import { constants, createSign } from 'node:crypto';
import { deflateRawSync } from 'node:zlib';
import { CompactEncrypt, type JWK } from 'jose';
import type { Refusal } from '../../functions/auth/unverified-token.ts';
import { assembleSigned, audience, inSeconds, scope, sign } from './access-tokens.ts';
import {
  base64url,
  changeUnusedBits,
  flipBit,
  hmac,
  issuedBy,
  type MakeToken,
  p256Order,
  privateKey,
  publicKey,
  signedAs,
  unsigned,
  withClaims,
  withClaimText,
  withHeader,
  withHeaderParameters,
  withPart,
  withPayload,
  withRAndS,
  withSignature,
} from './token-variants.ts';

type Forgery = [reason: Refusal, what: string, forge: MakeToken];

/** A token signed by a stranger. Its header contains the stranger's key, or the URL of that key. */
const withForeignKey =
  (headerOf: (stranger: JWK, foreignJwksUri: string) => object): MakeToken =>
  ({ stranger, claims, foreignJwksUri }) =>
    sign(stranger, claims(), { ...headerOf(stranger.jwk, foreignJwksUri) });

/** A token whose signature is in DER. That is the usual format of an ECDSA signature, but JWS does not allow it. */
const inDer: MakeToken = async ({ es, claims }) => {
  const key = await privateKey(es);
  return assembleSigned({ alg: 'ES256', kid: 'es', typ: 'at+jwt' }, claims(), (input) =>
    createSign('SHA256').update(input).sign(key, 'base64url'),
  );
};

const algorithms: Forgery[] = [
  ...['none', 'None', 'NONE', 'nOnE', 'none ', '', 'null'].map(
    (alg): Forgery => ['algorithm', `alg ${JSON.stringify(alg)}`, unsigned({ alg })],
  ),
  ['algorithm', 'alg none over a valid signature', withHeader('{"alg":"none","kid":"es","typ":"at+jwt"}')],
  [
    'malformed',
    'alg none without a signature',
    async (from) => (await unsigned({ alg: 'none' })(from)).replace(/[^.]*$/, ''),
  ],
  [
    'malformed',
    'alg none in two parts',
    async (from) => (await unsigned({ alg: 'none' })(from)).replace(/\.[^.]*$/, ''),
  ],
  ['algorithm', 'no alg', withHeaderParameters({ alg: undefined })],
  ...[
    '__proto__',
    'constructor',
    'toString',
    'hasOwnProperty',
    'es256',
    'ES256 ',
    'ES256\0',
    'ES256,none',
    'ＥＳ256',
  ].map((alg): Forgery => ['algorithm', `alg ${JSON.stringify(alg)}`, withHeaderParameters({ alg })]),
  ...[null, 7, true, ['ES256'], { ES256: 1 }].map(
    (alg): Forgery => ['malformed', `an alg of ${JSON.stringify(alg)}`, withHeaderParameters({ alg })],
  ),
  ['algorithm', 'alg twice, the second one none', withHeader('{"alg":"ES256","alg":"none","kid":"es","typ":"at+jwt"}')],
  [
    'algorithm',
    'HS256 with the public key in PEM as its secret',
    hmac({ alg: 'HS256', kid: 'rs' }, ({ rs }) => publicKey(rs).export({ type: 'spki', format: 'pem' })),
  ],
  [
    'algorithm',
    'HS256 with the public key in DER as its secret',
    hmac({ alg: 'HS256', kid: 'es' }, ({ es }) => publicKey(es).export({ type: 'spki', format: 'der' })),
  ],
  [
    'algorithm',
    'HS256 with the public key in JWK form as its secret',
    hmac({ alg: 'HS256', kid: 'es' }, ({ es }) => JSON.stringify(es.jwk)),
  ],
  ['algorithm', 'HS256 with an empty secret', hmac({ alg: 'HS256', kid: 'es' }, () => '')],
  [
    'signature',
    'an HS256 signature under a header that says RS256',
    hmac({ alg: 'RS256', kid: 'rs' }, ({ rs }) => publicKey(rs).export({ type: 'spki', format: 'pem' })),
  ],
  [
    'algorithm',
    'PS256 by a key for RS256',
    signedAs({ alg: 'PS256', kid: 'rs' }, 'rs', 'SHA256', constants.RSA_PKCS1_PSS_PADDING),
  ],
  [
    'algorithm',
    'PS256 by a key that names no algorithm',
    signedAs({ alg: 'PS256', kid: 'bare' }, 'bare', 'SHA256', constants.RSA_PKCS1_PSS_PADDING),
  ],
  [
    'signature',
    'a PS256 signature under a header that says RS256',
    signedAs({ alg: 'RS256', kid: 'rs' }, 'rs', 'SHA256', constants.RSA_PKCS1_PSS_PADDING),
  ],
  [
    'signature',
    'a SHA-1 signature under a header that says RS256',
    signedAs({ alg: 'RS256', kid: 'rs' }, 'rs', 'SHA1'),
  ],
  [
    'signature',
    'a SHA-512 signature under a header that says RS256',
    signedAs({ alg: 'RS256', kid: 'rs' }, 'rs', 'SHA512'),
  ],
  ['algorithm', 'RS384 by a key for RS256', signedAs({ alg: 'RS384', kid: 'rs' }, 'rs', 'SHA384')],
  ['algorithm', 'RS512 by a key that names no algorithm', signedAs({ alg: 'RS512', kid: 'bare' }, 'bare', 'SHA512')],
  [
    'algorithm',
    'ES384 by a key that names no algorithm',
    signedAs({ alg: 'ES384', kid: 'bare-es384' }, 'bareEs384', 'SHA384'),
  ],
  ['unknown key', 'ES256 by a P-384 key', signedAs({ alg: 'ES256', kid: 'bare-es384' }, 'bareEs384', 'SHA256')],
  [
    'algorithm',
    'an RS256 signature under a header that says ES256',
    signedAs({ alg: 'ES256', kid: 'bare' }, 'bare', 'SHA256'),
  ],
  ['algorithm', 'RS256 by an elliptic key', signedAs({ alg: 'RS256', kid: 'bare-es256' }, 'bareEs256', 'SHA256')],
  ['algorithm', 'an RS256 token with the kid of an ES256 key', ({ rs, claims }) => sign(rs, claims(), { kid: 'es' })],
  ['algorithm', 'ES256K', unsigned({ alg: 'ES256K' })],
  ['algorithm', 'EdDSA', unsigned({ alg: 'EdDSA' })],
];

const keys: Forgery[] = [
  ['signature', "another issuer's key under the same kid", ({ stranger, claims }) => sign(stranger, claims())],
  ['signature', 'the kid of another key of the issuer', ({ es, claims }) => sign(es, claims(), { kid: 'bare-es256' })],
  ...[
    '../../es',
    '/dev/null',
    "es' OR '1'='1",
    "x' UNION SELECT 'key' --",
    '__proto__',
    'constructor',
    'toString',
    '0',
    'keys',
    '',
    'ES',
    ' es',
    'es ',
    'es\0',
    'es\0../../dev/null',
    'ｅｓ',
    'e\u200bs',
    '*',
    'k'.repeat(4_000),
  ].map(
    (kid): Forgery => [
      'unknown key',
      `the kid ${JSON.stringify(kid.slice(0, 30))}`,
      ({ es, claims }) => sign(es, claims(), { kid }),
    ],
  ),
  ['unknown key', 'a kid that is a URL', withForeignKey((_, foreignJwksUri) => ({ kid: foreignJwksUri }))],
  ['unknown key', 'no kid', ({ es, claims }) => sign(es, claims(), { kid: undefined })],
  ...[1, 0, null, true, ['es'], { es: 'es' }].map(
    (kid): Forgery => ['malformed', `a kid of ${JSON.stringify(kid)}`, withHeaderParameters({ kid })],
  ),
  ['unknown key', 'a jwk instead of a kid', withForeignKey((jwk) => ({ jwk, kid: undefined }))],
  ['signature', 'a jwk beside a known kid', withForeignKey((jwk) => ({ jwk }))],
  ['unknown key', 'a jwk with its own kid', withForeignKey((jwk) => ({ jwk: { ...jwk, kid: 'mine' }, kid: 'mine' }))],
  ['signature', 'a jku beside a known kid', withForeignKey((_, jku) => ({ jku }))],
  ['unknown key', 'a jku with its own kid', withForeignKey((_, jku) => ({ jku, kid: 'mine' }))],
  ['unknown key', 'a jku instead of a kid', withForeignKey((_, jku) => ({ jku, kid: undefined }))],
  ['signature', 'an x5u beside a known kid', withForeignKey((_, x5u) => ({ x5u }))],
  ['unknown key', 'an x5u instead of a kid', withForeignKey((_, x5u) => ({ x5u, kid: undefined }))],
  ['signature', 'an x5c beside a known kid', withForeignKey((jwk) => ({ x5c: [base64url(JSON.stringify(jwk))] }))],
  ['unknown key', 'an x5t instead of a kid', withForeignKey((jwk) => ({ 'x5t#S256': jwk.x, kid: undefined }))],
  [
    'signature',
    'a foreign key as jwk, jku, x5u and x5c at once',
    withForeignKey((jwk, url) => ({ jwk, jku: url, x5u: url, x5c: [jwk.x] })),
  ],
  ['critical extension', 'a crit that names a known claim', withHeaderParameters({ crit: ['exp'], exp: 1 })],
  ...[['x-mine'], [], null, 'exp', {}].map(
    (crit): Forgery => ['critical extension', `a crit of ${JSON.stringify(crit)}`, withHeaderParameters({ crit })],
  ),
  ['critical extension', 'the header b64 false', withHeaderParameters({ b64: false })],
  ['critical extension', 'the header b64 false, listed in crit', withHeaderParameters({ b64: false, crit: ['b64'] })],
  ['critical extension', 'the header b64 true', withHeaderParameters({ b64: true })],
];

const signatures: Forgery[] = [
  ['signature', 'a signature of zeros', withRAndS(0n, 0n)],
  ['signature', 'a signature of ones', withSignature((bytes) => bytes.fill(0xff))],
  ['signature', 'an ECDSA signature with an r of 0', withRAndS(0n, undefined)],
  ['signature', 'an ECDSA signature with an s of 0', withRAndS(undefined, 0n)],
  ['signature', 'an ECDSA signature with r and s of 1', withRAndS(1n, 1n)],
  ['signature', "an ECDSA signature with an r of the curve's order", withRAndS(p256Order, undefined)],
  ['signature', "an ECDSA signature with an s of the curve's order", withRAndS(undefined, p256Order)],
  ['signature', "an ECDSA signature with r and s of the curve's order", withRAndS(p256Order, p256Order)],
  [
    'signature',
    'an ECDSA signature with r and s swapped',
    withSignature((bytes) => Buffer.concat([bytes.subarray(32), bytes.subarray(0, 32)])),
  ],
  ['signature', 'a truncated signature', withPart(2, (part) => part.slice(0, -2))],
  ['signature', 'half a signature', withSignature((bytes) => bytes.subarray(0, 32))],
  ['signature', 'a signature of one byte', withSignature((bytes) => bytes.subarray(0, 1))],
  ['signature', 'a signature repeated twice', withSignature((bytes) => Buffer.concat([bytes, bytes]))],
  ['signature', 'a signature with one more byte', withSignature((bytes) => Buffer.concat([bytes, Buffer.alloc(1)]))],
  [
    'signature',
    'an ECDSA signature with a zero byte before r and before s',
    withSignature((bytes) =>
      Buffer.concat([Buffer.alloc(1), bytes.subarray(0, 32), Buffer.alloc(1), bytes.subarray(32)]),
    ),
  ],
  ['signature', 'a signature in DER', inDer],
  ['signature', 'an RSA signature of zeros', withSignature((bytes) => bytes.fill(0), 'rs')],
  ['signature', 'an RSA signature of one', withSignature((bytes) => bytes.fill(0).fill(1, bytes.length - 1), 'rs')],
  ['signature', 'a truncated RSA signature', withSignature((bytes) => bytes.subarray(0, -1), 'rs')],
  [
    'signature',
    'an RSA signature with a zero before it',
    withSignature((bytes) => Buffer.concat([Buffer.alloc(1), bytes]), 'rs'),
  ],
  ...(['es', 'rs'] as const).flatMap((name) =>
    [1, 31, 65, 255, 257, 5_000].map(
      (length): Forgery => [
        'signature',
        `a signature of ${length} bytes by ${name}`,
        withSignature(() => Buffer.alloc(length, 1), name),
      ],
    ),
  ),
  ['malformed', 'an empty signature', withPart(2, () => '')],
  [
    'signature',
    'the signature of another token',
    async (from) => {
      const other = (await sign(from.es, from.claims({ sub: 'other' }))).split('.')[2] ?? '';
      return withPart(2, () => other)(from);
    },
  ],
  [
    'signature',
    'the payload of another token',
    async (from) => {
      const other = (await sign(from.es, from.claims({ sub: 'root' }))).split('.')[1] ?? '';
      return withPart(1, () => other)(from);
    },
  ],
  ['unknown key', 'a flipped bit in the kid of the header', flipBit(0, 'es"')],
  ['malformed', 'a flipped bit that makes the header invalid JSON', flipBit(0, '{')],
  ['signature', 'a flipped bit in the payload', flipBit(1, 'client-1')],
  [
    'signature',
    'a flipped bit in the signature',
    withSignature((bytes) => bytes.fill(bytes.readUInt8(40) ^ 1, 40, 41)),
  ],
];

const encodings: Forgery[] = [
  ['malformed', 'another base64url spelling of the same signature', withPart(2, changeUnusedBits)],
  ...[0, 1, 2].flatMap((index): Forgery[] => [
    ['malformed', `padding after part ${index}`, withPart(index, (part) => `${part}=`)],
    ['malformed', `white space in part ${index}`, withPart(index, (part) => `${part.slice(0, 4)} ${part.slice(4)}`)],
    ['malformed', `a line feed after part ${index}`, withPart(index, (part) => `${part}\n`)],
    [
      'malformed',
      `a zero-width space in part ${index}`,
      withPart(index, (part) => `${part.slice(0, 4)}\u200b${part.slice(4)}`),
    ],
    ['malformed', `U+0000 after part ${index}`, withPart(index, (part) => `${part}\0`)],
    [
      'malformed',
      `full-width letters in part ${index}`,
      withPart(index, (part) => String.fromCharCode(part.charCodeAt(0) + 0xfee0) + part.slice(1)),
    ],
    ['malformed', `an empty part ${index}`, withPart(index, () => '')],
  ]),
  [
    'malformed',
    'base64 instead of base64url',
    ({ es, claims }) =>
      sign(es, claims({ note: '>>>>???>>>>' })).then((token) => token.replaceAll('-', '+').replaceAll('_', '/')),
  ],
  ['malformed', 'a fourth part', async ({ es, claims }) => `${await sign(es, claims())}.x`],
  [
    'malformed',
    'a JWE of five parts',
    ({ es, claims }) =>
      new CompactEncrypt(Buffer.from(JSON.stringify(claims())))
        .setProtectedHeader({ alg: 'ECDH-ES', enc: 'A128GCM', kid: 'es' })
        .encrypt(publicKey(es)),
  ],
  [
    'malformed',
    'the JSON form of a JWS',
    async ({ es, claims }) => {
      const [header, payload, signature] = (await sign(es, claims())).split('.');
      return JSON.stringify({ payload, signatures: [{ protected: header, signature }] });
    },
  ],
  ['malformed', 'a header that is not JSON', withPart(0, () => 'bm9uc2Vuc2U')],
  ['malformed', 'a header that is a list', withHeader('[]')],
  ['malformed', 'a header that is null', withHeader('null')],
  ['malformed', 'a header with a byte order mark', withHeader('\ufeff{"alg":"ES256","kid":"es"}')],
  [
    'malformed',
    'a header that is not UTF-8',
    withHeader(Buffer.from('{"alg":"ES256","kid":"es","note":"\xff"}', 'latin1')),
  ],
  [
    'malformed',
    'a header with an overlong UTF-8 sequence',
    withHeader(Buffer.from('{"alg":"ES256","kid":"es","note":"\xc0\xaf"}', 'latin1')),
  ],
  ['malformed', 'a payload with a byte order mark', withPayload((payload) => `\ufeff${payload}`)],
  [
    'malformed',
    'a payload that is not UTF-8',
    withPayload((payload) => Buffer.from(payload.replace('client-1', 'é'), 'latin1')),
  ],
  ['malformed', 'a payload in UTF-16', withPayload((payload) => Buffer.from(payload, 'utf16le'))],
  [
    'malformed',
    'a payload with a surrogate encoded in UTF-8',
    withPayload((payload) => Buffer.from(payload.replace('client-1', '\xed\xa0\x80'), 'latin1')),
  ],
  ['malformed', 'a payload with text after it', withPayload((payload) => `${payload}{}`)],
  ['malformed', 'a truncated payload', withPayload((payload) => payload.slice(0, -1))],
  ['malformed', 'a compressed payload', withPayload((payload) => deflateRawSync(payload), { zip: 'DEF' })],
  ...['["x"]', 'null', '"x"', '7', 'true', ' '].map(
    (text): Forgery => ['malformed', `a payload of ${text}`, withPayload(() => text)],
  ),
  ['issuer', 'a payload of {}', withPayload(() => '{}')],
  [
    'malformed',
    'a token as the payload of another token',
    async ({ es, claims }) => sign(es, Buffer.from(await sign(es, claims())), { cty: 'JWT' }),
  ],
];

const purposes: Forgery[] = [
  ...['id+jwt', 'logout+jwt', 'dpop+jwt', 'JWE', 'at+jwt ', '', 'application/jwt'].map(
    (typ): Forgery => ['type', `the typ ${JSON.stringify(typ)}`, withClaims({}, { typ })],
  ),
  ...[1, null, ['at+jwt']].map((typ): Forgery => ['type', `a typ of ${JSON.stringify(typ)}`, withClaims({}, { typ })]),
  ['not an access token', 'a refresh token', withClaims({ token_use: 'refresh' })],
  ['not an access token', 'an ID token of Cognito', withClaims({ token_use: 'id' }, { typ: undefined })],
  ...['Access', ['access'], null, ''].map(
    (use): Forgery => ['not an access token', `a token_use of ${JSON.stringify(use)}`, withClaims({ token_use: use })],
  ),
  [
    'audience',
    'an ID token',
    withClaims({ aud: 'client-1', nonce: 'n', at_hash: 'h', scope: undefined }, { typ: 'JWT' }),
  ],
];

const issuers: Forgery[] = [
  ['issuer', 'another issuer', withClaims({ iss: 'https://other.example' })],
  [
    'issuer',
    'an issuer that the stranger runs',
    ({ stranger, claims, foreignJwksUri }) => sign(stranger, claims({ iss: foreignJwksUri })),
  ],
  ['issuer', 'another issuer under the URL of ours', issuedBy((issuer) => `${issuer}/other`)],
  ['issuer', 'the issuer with one more slash', issuedBy((issuer) => `${issuer}/`)],
  ['issuer', 'the issuer in capitals', issuedBy((issuer) => issuer.toUpperCase())],
  ['issuer', 'the issuer over http', issuedBy((issuer) => issuer.replace('https', 'http'))],
  ['issuer', 'the issuer as the user name in the URL of another host', issuedBy((issuer) => `${issuer}@other.example`)],
  ['issuer', 'the issuer with a space', issuedBy((issuer) => `${issuer} `)],
  ['issuer', 'the issuer with U+0000', issuedBy((issuer) => `${issuer}\0`)],
  ['issuer', 'the issuer with a zero-width space', issuedBy((issuer) => `${issuer}\u200b`)],
  ['issuer', 'the issuer with a fragment', issuedBy((issuer) => `${issuer}#`)],
  ['issuer', 'no issuer', withClaims({ iss: undefined })],
  ['issuer', 'an empty issuer', withClaims({ iss: '' })],
  ['malformed', 'the issuer in a list', issuedBy((issuer) => [issuer])],
  ['malformed', 'the issuer in an object', issuedBy((issuer) => ({ iss: issuer }))],
  ['malformed', 'an issuer of null', withClaims({ iss: null })],
  ['issuer', 'the claim iss twice, the second with another issuer', withClaimText('iss', '"https://other.example"')],
];

const audiences: Forgery[] = [
  ...[
    'urn:other',
    audience.toUpperCase(),
    `${audience}/`,
    `${audience} `,
    `urn:other,${audience}`,
    `urn:other ${audience}`,
    audience.slice(0, -1),
    '',
  ].map((aud): Forgery => ['audience', `the audience ${JSON.stringify(aud)}`, withClaims({ aud })]),
  ['audience', 'no audience', withClaims({ aud: undefined })],
  ['audience', 'an empty list of audiences', withClaims({ aud: [] })],
  ['audience', 'a list of other audiences', withClaims({ aud: ['urn:other', audience.toUpperCase(), ''] })],
  ...[[[audience]], [audience, 7], { [audience]: audience }, null, 7, true].map(
    (aud): Forgery => ['malformed', `an audience of ${JSON.stringify(aud)}`, withClaims({ aud })],
  ),
];

const times: Forgery[] = [
  ['no expiry', 'no exp', withClaims({ exp: undefined })],
  ['expired', 'a past exp', (from) => withClaims({ exp: inSeconds(-1) })(from)],
  ['expired', 'an exp of now', (from) => withClaims({ exp: inSeconds(0) })(from)],
  ['expired', 'an exp of half a second ago', (from) => withClaims({ exp: inSeconds(0) - 0.5 })(from)],
  ['malformed', 'an exp that is a string', (from) => withClaims({ exp: String(inSeconds(60)) })(from)],
  ['malformed', 'an exp in a list', (from) => withClaims({ exp: [inSeconds(60)] })(from)],
  ['malformed', 'an exp that is a date', withClaims({ exp: '2999-01-01T00:00:00Z' })],
  ['malformed', 'an exp of null', withClaims({ exp: null })],
  ['malformed', 'an exp of true', withClaims({ exp: true })],
  ['malformed', 'an exp too large for a double', withClaimText('exp', '1e400')],
  ['malformed', 'an exp of NaN', withClaimText('exp', 'NaN')],
  ...['0', '-1', '-0', '-1e300', '1e-400'].map(
    (exp): Forgery => ['expired', `an exp of ${exp}`, withClaimText('exp', exp)],
  ),
  ['not yet valid', 'an nbf more than a minute ahead', (from) => withClaims({ nbf: inSeconds(90) })(from)],
  ['not yet valid', 'an nbf of 1e300', withClaims({ nbf: 1e300 })],
  ['not yet valid', 'an iat more than a minute ahead', (from) => withClaims({ iat: inSeconds(90) })(from)],
  [
    'not yet valid',
    'an iat and exp in milliseconds',
    (from) => withClaims({ iat: inSeconds(0) * 1000, exp: inSeconds(3600) * 1000 })(from),
  ],
  ['malformed', 'an nbf that is a string', withClaims({ nbf: '0' })],
  ['malformed', 'an nbf too large for a double', withClaimText('nbf', '1e400')],
  ['malformed', 'an iat of null', withClaims({ iat: null })],
];

const scopes: Forgery[] = [
  ...[
    'plants/read',
    `${scope}-all`,
    `${scope}/`,
    `x${scope}`,
    'plants/creat',
    'plants',
    'plants/*',
    '*',
    'create',
    scope.toUpperCase(),
    `plants/read\t${scope}`,
    `plants/read\n${scope}`,
    `plants/read,${scope}`,
    `plants/read\u00a0${scope}`,
    `${scope}\0`,
    'plants\\create',
    'plants/ｃreate',
    'plants／create',
    'plants/\u200bcreate',
    'plants%2Fcreate',
    '',
    ' ',
  ].map((other): Forgery => ['scope', `the scope ${JSON.stringify(other)}`, withClaims({ scope: other })]),
  ['scope', 'no scope', withClaims({ scope: undefined })],
  [
    'scope',
    'the scope in claims with other names',
    withClaims({ scope: undefined, scp: scope, scopes: [scope], permissions: [scope] }),
  ],
  [
    'scope',
    'the scope in the claim __proto__',
    withPayload((payload) =>
      payload.replace('"scope":', '"__proto__":{"x":1},"__proto__":').replace(`"${scope}"`, `{"scope":"${scope}"}`),
    ),
  ],
  ...[[], [scope], ['plants/read', scope], [[scope]], [scope, 7], { [scope]: true }, { 0: scope }, null, true, 7].map(
    (other): Forgery => ['malformed', `a scope of ${JSON.stringify(other)}`, withClaims({ scope: other })],
  ),
];

const others: Forgery[] = ['sub', 'jti'].flatMap((claim) =>
  [7, null, ['a'], { a: 'b' }].map(
    (value): Forgery => ['malformed', `a ${claim} of ${JSON.stringify(value)}`, withClaims({ [claim]: value })],
  ),
);

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
  ...others,
];
