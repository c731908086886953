/** Who gets in: the Lambda authorizer, which checks access tokens, and the limits that documents name. */
export { tokenAuthorizer } from './authorizer.ts';
export { maxHeaderLength } from './bearer-token.ts';
export { cooldown, freshFor, minModulusLength, usableFor } from './issuer-keys.ts';
export type { Refusal } from './unverified-token.ts';
