import { createPublicKey, type KeyObject } from 'node:crypto';
import { SimpleFetcher } from 'aws-jwt-verify/https';
import { assertIsSignatureJwk, isJwk, type Jwk } from 'aws-jwt-verify/jwk';
import type { Json } from 'aws-jwt-verify/safe-json-parse';
import { type Algorithm, algorithmOf } from './algorithms.ts';

/** A key to verify signatures of one algorithm with. `publicKey` is made once: it takes as long as a signature's check. */
export type IssuerKey = { kid: string; algorithm: Algorithm; jwk: Jwk; publicKey: KeyObject };

/** A key that the issuer took back stops working after this many milliseconds, while the issuer answers. */
const freshFor = 5 * 60_000;

/** While the issuer does not answer, keys serve on for this many milliseconds in all; then no token is let in. */
const usableFor = 60 * 60_000;

/**
 * Milliseconds from the end of one fetch to the start of the next. Tokens with made-up key ids cannot flood the issuer,
 * and while it hangs, one request in that time waits for it, not each.
 */
const cooldown = 10_000;

/** Milliseconds for an answer, tried twice: as API Gateway's own JWT authorizers wait for a key set. */
const responseTimeout = 1_500;

export type IssuerKeys = {
  /** The issuer's keys, fetched if there are none or they are old. @throws if no usable keys can be had */
  current: () => Promise<readonly IssuerKey[]>;
  /** The keys after another look at the issuer, unless the cooldown forbids one. @throws as `current` */
  renewed: () => Promise<readonly IssuerKey[]>;
};

/** The key set that the issuer publishes at `jwksUri` (RFC 7517), held between invocations. */
export const issuerKeys = (jwksUri: string): IssuerKeys => {
  // Over https only, with one retry at once. (The library's cache of key sets would throw a whole set away for one key
  // that is malformed.)
  const fetcher = new SimpleFetcher({ defaultRequestOptions: { responseTimeout } });
  let held: { keys: IssuerKey[]; fetchedAt: number } | undefined;
  let failure: string | undefined;
  let endedAt = Number.NEGATIVE_INFINITY;
  let fetching: Promise<void> | undefined;

  const fetchKeys = async (): Promise<void> => {
    const startedAt = Date.now();
    try {
      const usable = usableKeys(await fetcher.fetch(jwksUri));
      // The issuer has taken back what was held; but without any key of its own no token can be judged.
      held = usable.length > 0 ? { keys: usable, fetchedAt: startedAt } : undefined;
      if (held === undefined) throw new Error('the key set has no key to verify a token with');
    } catch (error) {
      failure = error instanceof Error ? error.message : String(error);
      console.warn({ outcome: 'keys not fetched', cause: failure });
    }
    endedAt = Date.now();
    fetching = undefined;
  };

  const renewed = async (): Promise<readonly IssuerKey[]> => {
    if (Date.now() - endedAt >= cooldown) fetching ??= fetchKeys();
    await fetching;
    if (held === undefined || Date.now() - held.fetchedAt >= usableFor) {
      throw new Error(`The keys of the token issuer cannot be fetched: ${failure}`);
    }
    return held.keys;
  };

  return {
    renewed,
    current: async () => (held !== undefined && Date.now() - held.fetchedAt < freshFor ? held.keys : await renewed()),
  };
};

/** Those of a key set (RFC 7517) that may verify a token. @throws Error if the answer is no key set */
export const usableKeys = (answer: ArrayBuffer): IssuerKey[] => {
  try {
    const { keys } = JSON.parse(utf8.decode(answer)) as { keys: Json[] };
    // An answer with no key among its keys is rubbish, too: then those that are held serve on.
    const wellFormed = keys.filter(isJwk);
    if (keys.length > 0 && wellFormed.length === 0) throw new TypeError();
    return wellFormed.map(usableKey).filter((key) => key !== undefined);
  } catch {
    // The error may quote what the issuer answered: it ends here, so that no log can show it.
    throw new Error('the answer is no key set');
  }
};

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** RFC 7518 section 3.3, in bits. */
const minModulusLength = 2_048;

/** FIPS 186-5 section 5.4. With an exponent of 1 anybody could sign. */
const minPublicExponent = 65_537n;

/** RFC 7517 section 5: a key of a kind that is not understood, or a broken one, is as good as none. */
const usableKey = (jwk: Jwk): IssuerKey | undefined => {
  const algorithm = algorithmOf(jwk);
  if (algorithm === undefined || jwk.kid === undefined || !isForVerifying(jwk)) return undefined;
  try {
    assertIsSignatureJwk(jwk);
    const publicKey = createPublicKey({ key: jwk, format: 'jwk' });
    const { modulusLength = minModulusLength, publicExponent = minPublicExponent } =
      publicKey.asymmetricKeyDetails ?? {};
    if (modulusLength < minModulusLength || publicExponent < minPublicExponent) return undefined;
    return { kid: jwk.kid, algorithm, jwk, publicKey };
  } catch {
    return undefined;
  }
};

/** RFC 7517 section 4.3: it need not say what it is for; if it does, it must be for verifying. */
const isForVerifying = ({ key_ops: operations = ['verify'] }: Jwk): boolean =>
  Array.isArray(operations) && operations.includes('verify') && operations.every((each) => typeof each === 'string');
