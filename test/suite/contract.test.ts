import { testContract } from '@lambda-service/testing/suite';

testContract();
