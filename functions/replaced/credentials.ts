import { fromEnv } from '@aws-sdk/credential-provider-env';

/**
 * For @aws-sdk/credential-provider-node: in Lambda, credentials stand in the environment, and nowhere else. They stay the
 * same for as long as the instance lives, and reading the environment takes longer than it looks: once is enough.
 */
export const defaultProvider = (init: Parameters<typeof fromEnv>[0]) => {
  const provide = fromEnv(init);
  let credentials: ReturnType<typeof provide> | undefined;
  return () => {
    credentials ??= provide();
    return credentials;
  };
};
