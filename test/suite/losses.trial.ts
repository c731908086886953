import { testKill } from '@lambda-service/testing/suite/kill';
import { testModel } from '@lambda-service/testing/suite/model';

testModel();
testKill();
