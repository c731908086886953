/** For @aws-sdk/credential-provider-node: in Lambda, credentials stand in the environment, and nowhere else. */
export { fromEnv as defaultProvider } from '@aws-sdk/credential-provider-env';
