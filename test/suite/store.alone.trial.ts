import { testEndurance } from '@lambda-service/testing/suite/endurance';
import { testStoreFaults } from '@lambda-service/testing/suite/store-faults';

testStoreFaults();
testEndurance();
