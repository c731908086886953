import { test } from 'vitest';
import { responses } from '../../emulator/gateway/response.ts';
import { expectInContract } from '../kit/contract.ts';

/** POST /plants never gets these: they are for other paths, other methods or malformed HTTP. */
const ofOtherRequests = ['badRequest', 'notFound', 'noContent', 'expectationFailed'];

test.each(Object.entries(responses).filter(([name]) => !ofOtherRequests.includes(name)))(
  'the gateway gives POST /plants only responses that the contract has: %s',
  (_, { status, headers, body }) => {
    expectInContract(status, String(headers['content-type']), String(body));
  },
);
