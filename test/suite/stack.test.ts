import { testContract } from '@lambda-service/testing/suite/contract';
import { testPermissions } from '@lambda-service/testing/suite/permissions';
import { testStack } from '@lambda-service/testing/suite/stack';

testContract();
testStack();
testPermissions();
