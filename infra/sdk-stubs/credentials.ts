import { fromEnv } from '@aws-sdk/credential-provider-env';
import { memoize } from '@smithy/core/config';

/**
 * Stub for @aws-sdk/credential-provider-node (docs/decisions/sdk-stubs.md). Lambda sets credentials in the environment
 * and never changes them there. Reading the environment is slow, so each instance reads them once.
 */
export const defaultProvider = (init: Parameters<typeof fromEnv>[0]) => memoize(fromEnv(init));
