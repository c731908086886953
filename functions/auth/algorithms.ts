import type { Jwk } from 'aws-jwt-verify/jwk';

/** A token must not choose another algorithm (RFC 8725 section 3.1). */
const algorithms = ['RS256', 'ES256'] as const;

export type Algorithm = (typeof algorithms)[number];

export const isAlgorithm = (name: string | undefined): name is Algorithm => algorithms.some((each) => each === name);

/** Returns the accepted algorithm that fits a key's type and, if the key has one, its `alg` (RFC 7517 section 4.4). */
export const algorithmOf = ({ kty, crv, alg }: Jwk): Algorithm | undefined => {
  const isOfKind: Record<Algorithm, boolean> = { RS256: kty === 'RSA', ES256: kty === 'EC' && crv === 'P-256' };
  return algorithms.find((each) => isOfKind[each] && (alg ?? each) === each);
};
