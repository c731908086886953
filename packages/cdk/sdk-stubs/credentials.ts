/** Stub for @aws-sdk/credential-provider-node: reads the environment, where Lambda sets the credentials once. */
export { fromEnv as defaultProvider } from '@aws-sdk/credential-provider-env';
