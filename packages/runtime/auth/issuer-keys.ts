import { createPublicKey, type KeyObject } from 'node:crypto';
import { SimpleFetcher } from 'aws-jwt-verify/https';
import { assertIsSignatureJwk, isJwk, type Jwk } from 'aws-jwt-verify/jwk';
import type { Json } from 'aws-jwt-verify/safe-json-parse';

/** A token must not choose another algorithm (RFC 8725 section 3.1). */
const algorithms = ['RS256', 'ES256'] as const;

export type Algorithm = (typeof algorithms)[number];

export const isAlgorithm = (name: string | undefined): name is Algorithm => algorithms.some((each) => each === name);

/** Returns the accepted algorithm that fits a key's type and, if the key has one, its `alg` (RFC 7517 section 4.4). */
const algorithmOf = ({ kty, crv, alg }: Jwk): Algorithm | undefined => {
  const isOfKind: Record<Algorithm, boolean> = { RS256: kty === 'RSA', ES256: kty === 'EC' && crv === 'P-256' };
  return algorithms.find((each) => isOfKind[each] && (alg ?? each) === each);
};

/** `publicKey` is the parsed JWK, kept because parsing takes as long as verifying. */
export type IssuerKey = { kid: string; algorithm: Algorithm; publicKey: KeyObject };

/** Milliseconds until keys are fetched again. If the issuer responds, a withdrawn key works for at most this long. */
export const freshFor = 5 * 60_000;

/** Milliseconds for which fetched keys stay in use if the issuer cannot be reached. Then no token is accepted. */
export const usableFor = 60 * 60_000;

/** Milliseconds between fetches: unknown key ids must not flood the issuer, or make requests wait while it hangs. */
export const cooldown = 10_000;

/** Milliseconds that each of two attempts waits for the issuer. API Gateway's JWT authorizers wait the same time. */
const responseTimeout = 1_500;

export type IssuerKeys = {
  /** Returns the cached keys if they are fresh, else those of the issuer. @throws Error if no usable keys are known */
  current: () => Promise<readonly IssuerKey[]>;
  /** Fetches the keys again, unless the last fetch ended less than `cooldown` ago. @throws Error, as `current` does */
  renewed: () => Promise<readonly IssuerKey[]>;
};

/** Caches an issuer's key set (RFC 7517) across invocations. */
export const issuerKeys = (jwksUri: string): IssuerKeys => {
  // SimpleFetcher uses only https, and retries once. Why not aws-jwt-verify's cache: packages/runtime/decisions.md
  const fetcher = new SimpleFetcher({ defaultRequestOptions: { responseTimeout } });
  let cached: { keys: IssuerKey[]; fetchedAt: number } | undefined;
  let failure: string | undefined;
  let endedAt = Number.NEGATIVE_INFINITY;
  let fetching: Promise<void> | undefined;

  const fetchKeys = async (): Promise<void> => {
    const startedAt = Date.now();
    try {
      const usable = usableKeys(await fetcher.fetch(jwksUri));
      // If the clock has stepped back since the start, count from now: a fetch in the future would count as expired.
      const fetchedAt = Math.min(startedAt, Date.now());
      // If the new key set is valid, but has no usable keys, forget the cached keys: the issuer has withdrawn them.
      cached = usable.length > 0 ? { keys: usable, fetchedAt } : undefined;
      if (cached === undefined) throw new Error('the key set has no key to verify a token with');
    } catch (error) {
      failure = error instanceof Error ? error.message : String(error);
      console.warn({ outcome: 'keys not fetched', cause: failure });
    }
    endedAt = Date.now();
    fetching = undefined;
  };

  const renewed = async (): Promise<readonly IssuerKey[]> => {
    if (!isWithin(cooldown, endedAt)) fetching ??= fetchKeys();
    await fetching;
    if (cached === undefined || !isWithin(usableFor, cached.fetchedAt)) {
      throw new Error(`The keys of the token issuer cannot be fetched: ${failure}`);
    }
    return cached.keys;
  };

  return {
    renewed,
    current: async () => (cached !== undefined && isWithin(freshFor, cached.fetchedAt) ? cached.keys : await renewed()),
  };
};

/** A time in the future counts as long ago: the clock has stepped back, so nobody knows how long ago the time was. */
const isWithin = (duration: number, time: number): boolean => {
  const age = Date.now() - time;
  return age >= 0 && age < duration;
};

/** Returns the keys of a key set that can verify tokens. @throws Error if the response is not a key set (RFC 7517) */
export const usableKeys = (response: ArrayBuffer): IssuerKey[] => {
  try {
    const { keys } = JSON.parse(utf8.decode(response)) as { keys: Json[] };
    // If every key in the list is malformed, the response is not a key set: throw, so that the cached keys stay in use.
    const wellFormed = keys.filter(isJwk);
    if (keys.length > 0 && wellFormed.length === 0) throw new TypeError();
    return wellFormed.map(usableKey).filter((key) => key !== undefined);
  } catch {
    // Drop the caught error: it may quote the issuer's response, which must not be logged.
    throw new Error('the response is not a key set');
  }
};

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** In bits (RFC 7518 section 3.3). */
export const minModulusLength = 2_048;

/** FIPS 186-5 section 5.4. With an exponent of 1, anyone could forge signatures. */
export const minPublicExponent = 65_537n;

/** Returns undefined for a key that cannot be used, so that the key is ignored (RFC 7517 section 5). */
const usableKey = (jwk: Jwk): IssuerKey | undefined => {
  const algorithm = algorithmOf(jwk);
  if (algorithm === undefined || jwk.kid === undefined || !isForVerifying(jwk)) return undefined;
  try {
    assertIsSignatureJwk(jwk);
    const publicKey = createPublicKey({ key: jwk, format: 'jwk' });
    const { modulusLength = minModulusLength, publicExponent = minPublicExponent } =
      publicKey.asymmetricKeyDetails ?? {};
    if (modulusLength < minModulusLength || publicExponent < minPublicExponent) return undefined;
    return { kid: jwk.kid, algorithm, publicKey };
  } catch {
    return undefined;
  }
};

/** `key_ops` is optional in a key, but if present it must include `verify` (RFC 7517 section 4.3). */
const isForVerifying = ({ key_ops: operations = ['verify'] }: Jwk): boolean =>
  Array.isArray(operations) && operations.includes('verify') && operations.every((each) => typeof each === 'string');
