import cdkJson from '../../cdk.json' with { type: 'json' };

/** The CDK's feature flags in cdk.json, without the settings there, because the tests must pass with any settings. */
export const featureFlags = Object.fromEntries(Object.entries(cdkJson.context).filter(([key]) => key.startsWith('@')));
