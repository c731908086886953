import { testSmokeTest } from '@lambda-service/testing/suite/smoke-test';

testSmokeTest();
