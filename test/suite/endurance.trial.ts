import { testEndurance } from '@lambda-service/testing/suite';

testEndurance();
