import { testFunction } from '@lambda-service/testing/suite';

testFunction();
