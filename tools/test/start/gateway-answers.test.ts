import { describe, test } from 'vitest';
import { responses } from '../../../packages/emulator/gateway/response.ts';
import { expectInContract, operations } from '../../../test/kit/contract.ts';

/**
 * The gateway's responses that no operation documents: the path or method is unknown, the HTTP is malformed, the Expect
 * header is not supported, or the request is a preflight.
 */
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
