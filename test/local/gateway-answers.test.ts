import { test } from 'vitest';
import { responses } from '../../emulator/gateway/response.ts';
import { expectInContract } from '../kit/contract.ts';

/** Only other paths, methods or malformed HTTP get these: the contract describes POST /plants. */
const ofOtherRequests = ['badRequest', 'notFound'];

test.each(Object.entries(responses).filter(([name]) => !ofOtherRequests.includes(name)))(
  'the gateway gives POST /plants only responses that the contract has: %s',
  (_, { status, headers, body }) => {
    expectInContract(status, String(headers['content-type']), String(body));
  },
);
