import { describe, test } from 'vitest';
import { responses } from '../../emulator/gateway/response.ts';
import { expectInContract, operations } from '../kit/contract.ts';

/** The gateway's responses if no operation is called: the path or the method is unknown, or the HTTP is malformed. */
const ofOtherRequests = ['badRequest', 'notFound', 'noContent', 'expectationFailed'];

describe.each(operations)('the contract of $routeKey', ({ routeKey, requestBody }) => {
  // An operation without a request body need not document `bodyTooLarge`, because only an unexpected body leads to it.
  const others = [...ofOtherRequests, ...(requestBody ? [] : ['bodyTooLarge'])];

  test.each(Object.entries(responses).filter(([name]) => !others.includes(name)))(
    'documents the response %s, which the gateway may send instead of a response of the function',
    (_, { status, headers, body }) => {
      expectInContract(status, String(headers['content-type']), String(body), routeKey);
    },
  );
});
