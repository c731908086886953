/** Who gets in: the Lambda authorizer, which checks access tokens. */
export { tokenAuthorizer } from './authorizer.ts';
