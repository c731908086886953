import { testHttp } from '@lambda-service/testing/suite/http';

testHttp();
