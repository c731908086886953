/** Stub for @aws-sdk/middleware-endpoint-discovery, which is off by default. No function turns it on. */
export const NODE_ENDPOINT_DISCOVERY_CONFIG_OPTIONS = {
  environmentVariableSelector: () => false,
  configFileSelector: () => false,
  default: false,
};

export const resolveEndpointDiscoveryConfig = <Config>(config: Config): Config => config;
