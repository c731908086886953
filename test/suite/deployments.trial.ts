import { testAlarms } from '@lambda-service/testing/suite/alarms';
import { testDeployedPermissions } from '@lambda-service/testing/suite/deployed-permissions';
import { testRollOut } from '@lambda-service/testing/suite/roll-out';
import { testSmokeTest } from '@lambda-service/testing/suite/smoke-test';

testAlarms();
testRollOut();
testDeployedPermissions();
testSmokeTest();
