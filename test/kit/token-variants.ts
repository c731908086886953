/** How tokens are made that no usual library would make. */
import { constants, createHmac, createPrivateKey, createPublicKey, createSign, type KeyObject } from 'node:crypto';
import type { Jwks } from 'aws-jwt-verify/jwk';
import type { JWK } from 'jose';
import { assemble, assembleSigned, claims, makeKey, type SigningKey, sign } from './access-tokens.ts';

/** An issuer with keys of all kinds, and a stranger with a key under the kid of one of them. */
export type TokenIssuer = {
  issuer: string;
  /** What a URL in a token points to, where a stranger would have it looked for. */
  elsewhere: string;
  es: SigningKey;
  rs: SigningKey;
  /** Keys that say neither algorithm nor use. */
  bare: SigningKey;
  bareEs384: SigningKey;
  bareEs256: SigningKey;
  stranger: SigningKey;
  /** What the issuer shows: not the stranger's. */
  jwks: Jwks;
  /** The claims of a valid access token. An undefined claim in `change` leaves it out. */
  claims: (change?: Record<string, unknown>) => Record<string, unknown>;
};

export const makeTokenIssuer = async (issuer: string, elsewhere: string): Promise<TokenIssuer> => {
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
  return { issuer, elsewhere, es, rs, bare, bareEs384, bareEs256, stranger, jwks, claims: claimsOfIssuer };
};

/** `from` has the keys of the issuer, for what only a careless one would sign, and that of a stranger. */
export type MakeToken = (from: TokenIssuer) => string | Promise<string>;

/** Order of the group of P-256 (NIST SP 800-186). */
export const p256Order = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;

/** An integer as half of an ES256 signature (RFC 7518 section 3.4). */
export const es256Half = (value: bigint): Buffer => Buffer.from(value.toString(16).padStart(64, '0'), 'hex');

export const base64url = (bytes: Uint8Array | string): string => Buffer.from(bytes).toString('base64url');

export const publicKey = ({ jwk }: SigningKey): KeyObject =>
  createPublicKey({ key: jwk as JWK & { kty: string }, format: 'jwk' });

export const privateKey = async (key: SigningKey): Promise<KeyObject> =>
  createPrivateKey({
    key: Buffer.from(await crypto.subtle.exportKey('pkcs8', key.privateKey)),
    format: 'der',
    type: 'pkcs8',
  });

/** With a valid header but for `header`, and something else as its signature. */
export const unsigned =
  (header: object): MakeToken =>
  ({ claims }) =>
    assemble({ alg: 'ES256', kid: 'es', typ: 'at+jwt', ...header }, claims());

/** Signed by the key of that name with any digest and padding, whatever the header says. */
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

/** Signed with HMAC by a secret that everyone knows. */
export const hmac =
  (header: object, secretOf: (from: TokenIssuer) => string | Buffer): MakeToken =>
  (from) =>
    assembleSigned({ typ: 'at+jwt', ...header }, from.claims(), (input) =>
      createHmac('sha256', secretOf(from)).update(input).digest('base64url'),
    );

/** Signed by the issuer, with other claims. An undefined claim is left out. */
export const claiming =
  (change: Record<string, unknown>, header: Record<string, unknown> = {}): MakeToken =>
  ({ es, claims }) =>
    sign(es, claims(change), header);

/** As `claiming`, with claims that depend on the issuer's name. */
export const issuedBy =
  (issuerOf: (issuer: string) => unknown): MakeToken =>
  ({ es, issuer, claims }) =>
    sign(es, claims({ iss: issuerOf(issuer) }));

/** Signed by the issuer, with a payload of its own. `textOf` gets a valid one. */
export const withPayload =
  (textOf: (payload: string) => string | Uint8Array, header: Record<string, unknown> = {}): MakeToken =>
  ({ es, claims }) =>
    sign(es, Buffer.from(textOf(JSON.stringify(claims()))), header);

/** Signed by the issuer, with one claim spelled as given: what JSON.stringify would not write. */
export const spelling = (claim: string, value: string): MakeToken =>
  withPayload((payload) => `${payload.slice(0, -1)},"${claim}":${value}}`);

/** Signed by the issuer, with a header in these bytes. */
export const withHeader =
  (bytes: string | Uint8Array): MakeToken =>
  async ({ es, claims }) => {
    const input = `${base64url(bytes)}.${base64url(JSON.stringify(claims()))}`;
    const key = await privateKey(es);
    return `${input}.${createSign('SHA256').update(input).sign({ key, dsaEncoding: 'ieee-p1363' }, 'base64url')}`;
  };

/** Signed by the issuer, with a header that is valid but for `change`: what no library would sign. */
export const declaring = (change: object): MakeToken =>
  withHeader(JSON.stringify({ alg: 'ES256', kid: 'es', typ: 'at+jwt', ...change }));

/** A valid token with one part changed: 0 is the header, 1 the payload, 2 the signature. */
export const withPart =
  (index: number, change: (part: string) => string, name: 'es' | 'rs' = 'es'): MakeToken =>
  async ({ [name]: key, claims }) =>
    (await sign(key, claims()))
      .split('.')
      .map((part, at) => (at === index ? change(part) : part))
      .join('.');

export const withSignature = (change: (signature: Buffer) => Buffer, name: 'es' | 'rs' = 'es'): MakeToken =>
  withPart(2, (part) => base64url(change(Buffer.from(part, 'base64url'))), name);

/** A valid signature with r or s, or both, replaced. */
export const withHalves = (r: bigint | undefined, s: bigint | undefined): MakeToken =>
  withSignature((bytes) =>
    Buffer.concat([
      r === undefined ? bytes.subarray(0, 32) : es256Half(r),
      s === undefined ? bytes.subarray(32) : es256Half(s),
    ]),
  );

/** A valid ES256 signature with another s. */
export const withSecondHalf = (change: (s: bigint) => bigint): MakeToken =>
  withSignature((bytes) =>
    Buffer.concat([bytes.subarray(0, 32), es256Half(change(BigInt(`0x${bytes.toString('hex', 32)}`)))]),
  );

/** One bit flipped in the byte where `text` begins. */
export const flip = (index: number, text: string): MakeToken =>
  withPart(index, (part) => {
    const bytes = Buffer.from(part, 'base64url');
    const at = bytes.indexOf(text);
    bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at);
    return base64url(bytes);
  });

/** The same bytes in other letters: the last character of a part may carry bits that decoding drops. */
export const otherLastLetter = (part: string): string => {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  const other = alphabet[alphabet.indexOf(part.slice(-1)) + 1] ?? '';
  const changed = part.slice(0, -1) + other;
  if (!Buffer.from(changed, 'base64url').equals(Buffer.from(part, 'base64url'))) throw new Error('a part without such');
  return changed;
};
