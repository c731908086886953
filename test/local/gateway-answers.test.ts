import { describe, test } from 'vitest';
import { responses } from '../../emulator/gateway/response.ts';
import { expectInContract, operations } from '../kit/contract.ts';

/** No operation gets these: they are for other paths, other methods or malformed HTTP. */
const ofOtherRequests = ['badRequest', 'notFound', 'noContent', 'expectationFailed'];

describe.each(operations)('$routeKey', ({ routeKey, requestBody }) => {
  // Without a body, only a client that sends one anyway is told that it is too large.
  const others = [...ofOtherRequests, ...(requestBody ? [] : ['bodyTooLarge'])];

  test.each(Object.entries(responses).filter(([name]) => !others.includes(name)))(
    'gets only responses from the gateway that the contract has: %s',
    (_, { status, headers, body }) => {
      expectInContract(status, String(headers['content-type']), String(body), routeKey);
    },
  );
});
