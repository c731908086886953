import { testEndurance } from '@lambda-service/testing/suite/endurance';

testEndurance();
