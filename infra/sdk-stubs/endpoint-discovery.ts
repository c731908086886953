/** Stub for @aws-sdk/middleware-endpoint-discovery: DynamoDB clients use endpoint discovery only if configured to. */
export const NODE_ENDPOINT_DISCOVERY_CONFIG_OPTIONS = {
  environmentVariableSelector: () => false,
  configFileSelector: () => false,
  default: false,
};

export const resolveEndpointDiscoveryConfig = <Config>(config: Config): Config => config;
