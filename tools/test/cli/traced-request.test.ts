import { expect, test } from 'vitest';
import { describe } from '../../cli/traced-request.ts';

test('the text that describes a request shows a stack trace line by line, and escapes control characters in log lines', () => {
  const summary = { method: 'POST', path: '/plants', status: 500, milliseconds: 7 };
  const message = { outcome: 'failed', cause: { name: '\u001b[2J', stack: 'Error: no\n    at put (index.js:1:2)' } };
  expect(describe({ summary, errors: [], lines: [{ who: 'CreatePlant', level: 'ERROR', message }] })).toBe(
    [
      'POST /plants 500 7 ms',
      'CreatePlant ERROR {',
      '  "outcome": "failed",',
      '  "cause": {',
      '    "name": "\\u001b[2J",',
      '    "stack": "Error: no',
      '    at put (index.js:1:2)"',
      '  }',
      '}',
    ].join('\n'),
  );
});

test.each<[message: unknown, text: string]>([
  [undefined, ''],
  [{ folder: 'C:\\new' }, '{"folder":"C:\\\\new"}'],
])('npm run request shows the log message %j as %j', (message, text) => {
  const description = describe({ errors: ['no\u009b2J'], lines: [{ who: 'Authorizer', level: 'INFO', message }] });
  expect(description.split('\n').slice(1)).toEqual([`Authorizer INFO ${text}`, 'Gateway: no\\u009b2J']);
});

test("npm run request shows the gateway's reason for refusing a request, but only if the gateway called no function for it", () => {
  const summary = { method: 'POST', path: '/plants', status: 413, milliseconds: 7 };
  expect(describe({ summary, errors: [], lines: [] })).toContain('Gateway: the body is over 10 MB');
  const lines = [{ who: 'CreatePlant', level: 'INFO', message: { outcome: 'refused', error: 41301 } }];
  expect(describe({ summary, errors: [], lines })).not.toContain('Gateway');
});
