/** CDK constructs of a Lambda service. */
export { AccountBudget } from './account-budget.ts';
export { acknowledge } from './acknowledge.ts';
export { addAudit } from './audit.ts';
export { Authorizer } from './authorizer.ts';
export { GitHubStack, readGitHub } from './github.ts';
export { GuardedApi } from './guarded-api.ts';
export { Monitoring } from './monitoring.ts';
export { listRoutes, OperationFunction, scopesOf } from './operations.ts';
export { OutsideCheck } from './outside-check.ts';
export { BundledFunction, ServiceFunction } from './service-function.ts';
export { type ServiceNames, ServiceStack } from './service-stack.ts';
export { ConfigurationError, keys as settingKeys, maxWriteUnits, readSettings, type Settings } from './settings.ts';
export { SmokeTest } from './smoke-test.ts';
export { trustedIssuer } from './token-issuer.ts';
