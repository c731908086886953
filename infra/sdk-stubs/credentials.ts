import { fromEnv } from '@aws-sdk/credential-provider-env';
import { memoize } from '@smithy/core/config';

/** Stub for @aws-sdk/credential-provider-node: reads the environment, where Lambda sets the credentials once. */
export const defaultProvider = (init: Parameters<typeof fromEnv>[0]) => memoize(fromEnv(init));
