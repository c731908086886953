import { serviceTests, testOptions } from '@lambda-service/testing/preset';

const service = 'test/service.ts';

/** Options for all tests, including tests that run with another Vitest configuration. */
export const options = testOptions(service);

export default serviceTests(service, ['test', 'client/test', 'packages/*/test']);
