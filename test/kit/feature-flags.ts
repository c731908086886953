import cdkJson from '../../cdk.json' with { type: 'json' };

/**
 * The CDK's feature flags from cdk.json. The settings in that file are left out, because the tests must pass with any
 * settings.
 */
export const featureFlags = Object.fromEntries(Object.entries(cdkJson.context).filter(([key]) => key.startsWith('@')));
