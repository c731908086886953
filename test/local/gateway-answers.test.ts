import { describe, test } from 'vitest';
import { responses } from '../../emulator/gateway/response.ts';
import { expectInContract, operations } from '../kit/contract.ts';

/** The gateway's responses to requests that reach no operation: another path, another method or malformed HTTP. */
const ofOtherRequests = ['badRequest', 'notFound', 'noContent', 'expectationFailed'];

describe.each(operations)('$routeKey', ({ routeKey, requestBody }) => {
  // An operation without a request body need not document `bodyTooLarge`, because only an unexpected body leads to it.
  const others = [...ofOtherRequests, ...(requestBody ? [] : ['bodyTooLarge'])];

  test.each(Object.entries(responses).filter(([name]) => !others.includes(name)))(
    "can get the gateway's response %s, which the contract documents",
    (_, { status, headers, body }) => {
      expectInContract(status, String(headers['content-type']), String(body), routeKey);
    },
  );
});
