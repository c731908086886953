import { testStoreFaults } from '@lambda-service/testing/suite/store-faults';

testStoreFaults();
