import { testIssuerKeys, testLog, testTokens } from '@lambda-service/testing/suite';

testTokens();
testIssuerKeys();
testLog();
