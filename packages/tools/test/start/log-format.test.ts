/** Tests what the row of a request says of the lines of our functions, and why a request did not succeed. */
import { errors } from '@lambda-service/runtime/http';
import { type AccessLogLine, accessLine, row } from 'http-api-emulator/request-log';
import { expect, test } from 'vitest';
import { logFormat } from '../../start/log-format.ts';

const time = new Date(0).toISOString();
const request = { time, method: 'POST', path: '/', milliseconds: 1, requestId: 'aBc=' };
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
  const text = row({ ...request, status, log: [], ...logged }, logFormat);
  expect(text).toBe(`${time} POST / ${status} 1 ms aBc=${reason && ` ${reason}`}`);
});

const below = (status: number, log: AccessLogLine['log']) =>
  accessLine({ ...request, status, log }, logFormat)
    .split('\n')
    .slice(1);

test('nothing follows the row of a request about which its functions have logged only what the row says', () => {
  const allowed = logged({ outcome: 'allowed', gatewayRequestId: 'aBc=' });
  expect(below(200, [...allowed, ...logged({ outcome: 'created', store: { milliseconds: 5 } })])).toEqual([]);
  const warning = { functionName: 'Worker', level: 'WARN', message: { outcome: 'slow', gatewayRequestId: 'aBc=' } };
  expect(below(200, [warning])).toEqual(['    Worker WARN {"outcome":"slow"}']);
});

test('the stack traces of a fault follow the row, but not those of a store that does not answer', () => {
  const cause = { name: 'Error', stack: 'Error: outer\n    at a', cause: { stack: 'TypeError: x\n    at b' } };
  const line = (level: string) => [{ functionName: 'Worker', level, message: { outcome: 'failed', cause } }];
  expect(below(500, line('ERROR'))).toEqual(['    Error: outer', '        at a', '    TypeError: x', '        at b']);
  expect(below(503, line('WARN'))).toEqual([]);
});
