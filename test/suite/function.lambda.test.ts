import { testFunction } from '@lambda-service/testing/suite/function';

testFunction();
