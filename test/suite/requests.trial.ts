import { testIssuerKeys } from '@lambda-service/testing/suite/issuer-keys';
import { testLog } from '@lambda-service/testing/suite/log';
import { testTokens } from '@lambda-service/testing/suite/tokens';

testTokens();
testIssuerKeys();
testLog();
