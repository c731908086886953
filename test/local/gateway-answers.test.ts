import { describe, test } from 'vitest';
import { responses } from '../../emulator/gateway/response.ts';
import { expectInContract, operations } from '../kit/contract.ts';

/** Responses that no operation gets: the gateway sends them for other paths, other methods or malformed HTTP. */
const ofOtherRequests = ['badRequest', 'notFound', 'noContent', 'expectationFailed'];

describe.each(operations)('$routeKey', ({ routeKey, requestBody }) => {
  // An operation without a body gets no bodyTooLarge, unless a client sends a body anyway.
  const others = [...ofOtherRequests, ...(requestBody ? [] : ['bodyTooLarge'])];

  test.each(Object.entries(responses).filter(([name]) => !others.includes(name)))(
    'gets from the gateway only responses that the contract documents: %s',
    (_, { status, headers, body }) => {
      expectInContract(status, String(headers['content-type']), String(body), routeKey);
    },
  );
});
