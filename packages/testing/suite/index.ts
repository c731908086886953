/** The tests that every service must pass, in parts. */
export { testAlarms } from './alarms.ts';
export { testContract } from './contract.ts';
export { testDeployedPermissions } from './deployed-permissions.ts';
export { testEndurance } from './endurance.ts';
export { testFunction } from './function.ts';
export { testHttp } from './http.ts';
export { testIssuerKeys } from './issuer-keys.ts';
export { testKill } from './kill.ts';
export { testLog } from './log.ts';
export { testModel } from './model.ts';
export { refusal, type ServiceRequest, type ServiceResponse, type ServiceUnderTest } from './responses.ts';
export { testRollOut } from './roll-out.ts';
export { testSmokeTest } from './smoke-test.ts';
export { testStoreFaults } from './store-faults.ts';
export { testTokens } from './tokens.ts';
