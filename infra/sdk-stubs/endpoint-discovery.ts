/**
 * Stub for @aws-sdk/middleware-endpoint-discovery: no function turns endpoint discovery on, which is off by default.
 */
export const NODE_ENDPOINT_DISCOVERY_CONFIG_OPTIONS = {
  environmentVariableSelector: () => false,
  configFileSelector: () => false,
  default: false,
};

export const resolveEndpointDiscoveryConfig = <Config>(config: Config): Config => config;
