import type { Jwk } from 'aws-jwt-verify/jwk';

/** The accepted signature algorithms are fixed here, because a token must not choose its own (RFC 8725 section 3.1). */
const algorithms = ['RS256', 'ES256'] as const;

export type Algorithm = (typeof algorithms)[number];

export const isAlgorithm = (name: string | undefined): name is Algorithm => algorithms.some((each) => each === name);

/** Returns the accepted algorithm that fits a key's type and its `alg`, which is optional (RFC 7517 section 4.4). */
export const algorithmOf = ({ kty, crv, alg }: Jwk): Algorithm | undefined => {
  const isOfKind: Record<Algorithm, boolean> = { RS256: kty === 'RSA', ES256: kty === 'EC' && crv === 'P-256' };
  return algorithms.find((each) => isOfKind[each] && (alg ?? each) === each);
};
