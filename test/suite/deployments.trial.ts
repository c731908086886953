import { testAlarms, testDeployedPermissions, testRollOut, testSmokeTest } from '@lambda-service/testing/suite';

testAlarms();
testRollOut();
testDeployedPermissions();
testSmokeTest();
