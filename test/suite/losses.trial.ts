import { testKill, testModel } from '@lambda-service/testing/suite';

testModel();
testKill();
