/** Tests the words for why a request did not succeed. The other tests of its row are in request-log.test.ts. */

import { errors } from '@lambda-service/runtime/http';
import type { AccessLogLine } from 'http-api-emulator';
import { expect, test } from 'vitest';
import { reasonFor } from '../../start/reasons.ts';

const request = { time: '', method: 'POST', path: '/', milliseconds: 1, requestId: 'aBc=' };
const logged = (message: object) => [{ functionName: 'Worker', level: 'INFO', message }];
const refused = (reason: string) => logged({ outcome: 'refused', error: 40002, reason });
const failed = (cause: object) => logged({ outcome: 'failed', cause });
const body = (message: string, error?: number) => JSON.stringify({ error, message });

test.each<[status: number, logged: Partial<AccessLogLine>, reason: string]>([
  [200, { log: logged({ outcome: 'created' }) }, ''],
  [204, { refusedOrigin: 'http://a.example' }, 'http://a.example is refused by CORS'],
  [400, { log: refused('* is not allowed'), errorBody: body('size is not allowed', 40002) }, 'size is not allowed'],
  [400, { log: refused('* is not allowed') }, '* is not allowed'],
  [400, { log: refused('a'), errorBody: '<html>' }, 'a'],
  [400, { error: 'the path has an invalid escape sequence' }, 'the path has an invalid escape sequence'],
  [401, { errorBody: body('Unauthorized') }, 'no Authorization header'],
  [
    403,
    {
      log: logged({ outcome: 'refused', reason: 'expired' }),
      error: 'Guard0123ABCD: its response, which may be cached, does not allow arn:aws:b',
      errorBody: body('Forbidden'),
    },
    'the token is refused: expired',
  ],
  [403, { log: logged({ outcome: 'refused', reason: 'scope' }) }, 'the token lacks a scope of the route'],
  [403, { error: 'Guard0123ABCD: its response does not allow it' }, 'Guard: its response does not allow it'],
  [404, { refusedOrigin: 'null' }, 'null is refused by CORS; the API has no such route'],
  [413, {}, 'the body is over 10 MB'],
  [413, { log: refused(errors.tooLarge.message) }, errors.tooLarge.message],
  [500, { log: failed({ stack: 'TypeError: oops\n    at a' }), errorBody: body('ours', 50001) }, 'TypeError: oops'],
  [500, { log: failed({ name: 'AccessDeniedException', denied: 'b:C on d' }) }, 'IAM denies b:C on d'],
  [500, { error: 'Worker0123ABCD: Error: oops' }, 'Worker: Error: oops'],
  [
    503,
    {
      log: failed({
        stack: 'StoreUnavailable: no answer\n    at a',
        cause: { stack: 'Error: connect ECONNREFUSED', code: 'ECONNREFUSED' },
      }),
    },
    'no answer: connect ECONNREFUSED',
  ],
  [503, { log: failed({ stack: 'TimeoutError: too late' }) }, 'too late'],
  [503, { log: failed({ stack: 'CatalogueError: no time left' }) }, 'no time left'],
  [503, { log: failed({ stack: 'Error: a', cause: { name: 'TimeoutError', code: 'E' } }) }, 'a: TimeoutError: E'],
])('the reason for a %i of %j is: %s', (status, logged, reason) => {
  expect(reasonFor({ ...request, status, log: [], ...logged })).toBe(reason);
});
