import { testAlarms } from '@lambda-service/testing/suite/alarms';
import { testDeployedPermissions } from '@lambda-service/testing/suite/deployed-permissions';
import { testRollOut } from '@lambda-service/testing/suite/roll-out';

testAlarms();
testRollOut();
testDeployedPermissions();
