import { testStoreFaults } from '@lambda-service/testing/suite';

testStoreFaults();
