import { testContract } from '@lambda-service/testing/suite/contract';

testContract();
