/** Makes tokens that ordinary JWT libraries would not make: malformed or forged tokens, and unusual but valid ones. */
import { constants, createHmac, createPrivateKey, createPublicKey, createSign, type KeyObject } from 'node:crypto';
import type { Jwks } from 'aws-jwt-verify/jwk';
import type { JWK } from 'jose';
import { assemble, assembleSigned, claims, makeKey, type SigningKey, sign } from './access-tokens.ts';

/**
 * An issuer with several kinds of keys, and an attacker's key (`stranger`) with the same `kid` as one of the issuer's
 * keys.
 */
export type TokenIssuer = {
  issuer: string;
  /** The URL at which, according to a forged token, the attacker's key `stranger` can be found. */
  foreignJwksUri: string;
  es: SigningKey;
  rs: SigningKey;
  /** The JWKs of `bare`, `bareEs384` and `bareEs256` have neither `alg` nor `use`. */
  bare: SigningKey;
  bareEs384: SigningKey;
  bareEs256: SigningKey;
  stranger: SigningKey;
  /** The issuer's key set, which does not include the attacker's key `stranger`. */
  jwks: Jwks;
  /** Returns the claims of a valid access token, changed by `change`. A claim that becomes undefined is left out. */
  claims: (change?: Record<string, unknown>) => Record<string, unknown>;
};

export const makeTokenIssuer = async (issuer: string, foreignJwksUri: string): Promise<TokenIssuer> => {
  const [es, rs, bare, bareEs384, bareEs256, stranger] = await Promise.all([
    makeKey('ES256', 'es'),
    makeKey('RS256', 'rs'),
    makeKey('RS256', 'bare'),
    makeKey('ES384', 'bare-es384'),
    makeKey('ES256', 'bare-es256'),
    makeKey('ES256', 'es'),
  ]);
  for (const key of [bare, bareEs384, bareEs256]) {
    delete key.jwk.alg;
    delete key.jwk.use;
  }
  const jwks = { keys: [es, rs, bare, bareEs384, bareEs256].map(({ jwk }) => jwk) } as Jwks;
  const claimsOfIssuer = (change = {}) => claims({ iss: issuer, ...change });
  return { issuer, foreignJwksUri, es, rs, bare, bareEs384, bareEs256, stranger, jwks, claims: claimsOfIssuer };
};

/**
 * Makes one variant of a token. It can use any key in `from`, which has the issuer's keys and the attacker's key
 * `stranger`.
 */
export type MakeToken = (from: TokenIssuer) => string | Promise<string>;

/** The order of the P-256 group (NIST SP 800-186). */
export const p256Order = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;

/** Encodes an integer as half of an ES256 signature: 32 bytes, big-endian (RFC 7518 section 3.4). */
const es256Integer = (value: bigint): Buffer => Buffer.from(value.toString(16).padStart(64, '0'), 'hex');

export const base64url = (bytes: Uint8Array | string): string => Buffer.from(bytes).toString('base64url');

export const publicKey = ({ jwk }: SigningKey): KeyObject =>
  createPublicKey({ key: jwk as JWK & { kty: string }, format: 'jwk' });

export const privateKey = async (key: SigningKey): Promise<KeyObject> =>
  createPrivateKey({
    key: Buffer.from(await crypto.subtle.exportKey('pkcs8', key.privateKey)),
    format: 'der',
    type: 'pkcs8',
  });

/** Makes a token with `header` merged into a valid header, and with an invalid signature. */
export const unsigned =
  (header: object): MakeToken =>
  ({ claims }) =>
    assemble({ alg: 'ES256', kid: 'es', typ: 'at+jwt', ...header }, claims());

/**
 * Makes a token signed with the key `name`, with the given digest and padding, whatever algorithm `header` declares.
 */
export const signedAs =
  (header: object, name: KeyName, digest: string, padding = constants.RSA_PKCS1_PADDING): MakeToken =>
  async (from) => {
    const key = await privateKey(from[name]);
    const options = key.asymmetricKeyType === 'rsa' ? { key, padding } : { key, dsaEncoding: 'ieee-p1363' as const };
    return assembleSigned({ typ: 'at+jwt', ...header }, from.claims(), (input) =>
      createSign(digest).update(input).sign(options, 'base64url'),
    );
  };

type KeyName = 'es' | 'rs' | 'bare' | 'bareEs384' | 'bareEs256' | 'stranger';

/** Makes a token signed with HMAC and a secret that anybody can know, such as a public key. */
export const hmac =
  (header: object, secretOf: (from: TokenIssuer) => string | Buffer): MakeToken =>
  (from) =>
    assembleSigned({ typ: 'at+jwt', ...header }, from.claims(), (input) =>
      createHmac('sha256', secretOf(from)).update(input).digest('base64url'),
    );

/** Makes a token signed by the issuer, with claims changed by `change`. A claim that becomes undefined is left out. */
export const withClaims =
  (change: Record<string, unknown>, header: Record<string, unknown> = {}): MakeToken =>
  ({ es, claims }) =>
    sign(es, claims(change), header);

/** Makes a token signed by the issuer. `issuerOf` turns the issuer's URL into the `iss` of the token. */
export const issuedBy =
  (issuerOf: (issuer: string) => unknown): MakeToken =>
  ({ es, issuer, claims }) =>
    sign(es, claims({ iss: issuerOf(issuer) }));

/** Makes a token signed by the issuer. `textOf` gets a valid payload, and returns the payload to sign. */
export const withPayload =
  (textOf: (payload: string) => string | Uint8Array, header: Record<string, unknown> = {}): MakeToken =>
  ({ es, claims }) =>
    sign(es, Buffer.from(textOf(JSON.stringify(claims()))), header);

/** Makes a token signed by the issuer, with one more claim. `value` is JSON text, in any spelling that JSON allows. */
export const withClaimText = (claim: string, value: string): MakeToken =>
  withPayload((payload) => `${payload.slice(0, -1)},"${claim}":${value}}`);

/** Makes a token signed by the issuer, with exactly these bytes as its header. */
export const withHeader =
  (bytes: string | Uint8Array): MakeToken =>
  async ({ es, claims }) => {
    const input = `${base64url(bytes)}.${base64url(JSON.stringify(claims()))}`;
    const key = await privateKey(es);
    return `${input}.${createSign('SHA256').update(input).sign({ key, dsaEncoding: 'ieee-p1363' }, 'base64url')}`;
  };

/** Makes a token signed by the issuer, with `change` merged into its header, even if no library would sign that. */
export const withHeaderParameters = (change: object): MakeToken =>
  withHeader(JSON.stringify({ alg: 'ES256', kid: 'es', typ: 'at+jwt', ...change }));

/** Makes a valid token, and changes the part with this index: 0 is the header, 1 the payload, 2 the signature. */
export const withPart =
  (index: number, change: (part: string) => string, name: 'es' | 'rs' = 'es'): MakeToken =>
  async ({ [name]: key, claims }) =>
    (await sign(key, claims()))
      .split('.')
      .map((part, at) => (at === index ? change(part) : part))
      .join('.');

export const withSignature = (change: (signature: Buffer) => Buffer, name: 'es' | 'rs' = 'es'): MakeToken =>
  withPart(2, (part) => base64url(change(Buffer.from(part, 'base64url'))), name);

/** Makes a token, and replaces r, s or both in its ES256 signature (r, s). An undefined argument changes nothing. */
export const withRAndS = (r: bigint | undefined, s: bigint | undefined): MakeToken =>
  withSignature((bytes) =>
    Buffer.concat([
      r === undefined ? bytes.subarray(0, 32) : es256Integer(r),
      s === undefined ? bytes.subarray(32) : es256Integer(s),
    ]),
  );

/** Makes a token with a valid ES256 signature (r, s), and then replaces s with the result of `change`. */
export const withChangedS = (change: (s: bigint) => bigint): MakeToken =>
  withSignature((bytes) =>
    Buffer.concat([bytes.subarray(0, 32), es256Integer(change(BigInt(`0x${bytes.toString('hex', 32)}`)))]),
  );

/**
 * Makes a token and damages one of its parts (`index` 0 is the header): in the decoded part, finds `text` and flips a
 * bit in its first byte.
 */
export const flipBit = (index: number, text: string): MakeToken =>
  withPart(index, (part) => {
    const bytes = Buffer.from(part, 'base64url');
    const at = bytes.indexOf(text);
    bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at);
    return base64url(bytes);
  });

/** Changes unused bits in the last base64url character of a part. The part's decoded bytes stay the same. */
export const changeUnusedBits = (part: string): string => {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  const other = alphabet[alphabet.indexOf(part.slice(-1)) + 1] ?? '';
  const changed = part.slice(0, -1) + other;
  if (!Buffer.from(changed, 'base64url').equals(Buffer.from(part, 'base64url')))
    throw new Error('The last character of this part has no unused bits.');
  return changed;
};
