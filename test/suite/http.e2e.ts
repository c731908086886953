import { testHttp } from '@lambda-service/testing/suite';

testHttp();
