import { expect, test } from 'vitest';
import { parseFilterPattern, valueAt } from './filter-pattern.ts';

const line = {
  level: 'ERROR',
  message: { outcome: 'failed', error: 50001, cause: { name: 'TypeError' }, tags: ['x'] },
};

test.each<[pattern: string, isMatch: boolean]>([
  ['{ $.level = "ERROR" }', true],
  ['{ $.level = "error" }', false],
  ['{ $.level != "INFO" }', true],
  ['{ $.level != "ERROR" }', false],
  ['{ $.level = "ERR*" }', true],
  ['{ $.level = "ERROR*" }', true],
  ['{ $.level = "WARN*" }', false],
  ['{ $.level != "WARN*" }', true],
  ['{ $.level != "ERR*" }', false],
  ['{ $.message.missing != "x*" }', false],
  ['{ $.message.cause.name = "TypeError" }', true],
  ['{ $.message.outcome = "failed" && $.level = "ERROR" }', true],
  ['{ $.message.outcome = "failed" && $.level = "WARN" }', false],
  ['{ $.message.outcome = "*" }', true],
  ['{ $.message.error = * }', true],
  ['{ $.message.error = 50001 }', true],
  ['{ $.message.error != 50001 }', false],
  ['{ $.message.error > 50000 }', true],
  ['{ $.message.error >= 50001.5 }', false],
  ['{ $.message.error < 50001 }', false],
  ['{ $.message.error <= 50001 }', true],
  // Only a field that is a string or a number can match. If it is missing, an object or a list, no condition is true,
  // not even one with `!=`.
  ['{ $.message.missing = "*" }', false],
  ['{ $.message.missing != "x" }', false],
  ['{ $.message.missing.name != "x" }', false],
  ['{ $.message.cause != "x" }', false],
  ['{ $.message.tags = "*" }', false],
  ['{ $.level.length = * }', false],
])(
  "parseFilterPattern follows CloudWatch's documentation: the filter pattern %s matches a sample log line: %s",
  (pattern, isMatch) => {
    expect(parseFilterPattern(pattern)(line)).toBe(isMatch);
  },
);

test('a filter pattern for a field of `message` does not match a line whose `message` is a string or null, not an object', () => {
  const matches = parseFilterPattern('{ $.message.outcome = "*" }');
  expect([{ message: 'oops' }, { message: null }, 'oops', null].filter(matches)).toEqual([]);
});

test.each([
  '',
  'ERROR',
  '[a, b]',
  '{}',
  '{ $.level }',
  '{ $.level = }',
  '{ $.level == "ERROR" }',
  '{ $.level = ERROR }',
  '{ level = "ERROR" }',
  '{ $.level = "*OR" }',
  '{ $.level = "E*R" }',
  '{ $.level = "a\\"b" }',
  '{ $.level > "ERROR" }',
  '{ $.level != "*" }',
  '{ $.level >= * }',
  '{ $.level = %ERR% }',
  '{ $.level EXISTS }',
  '{ $.level NOT EXISTS }',
  '{ $.level IS NULL }',
  '{ $.tags[0] = "x" }',
  '{ ($.level = "ERROR") }',
  '{ $.level = "ERROR" || $.level = "WARN" }',
  '{ $.level = "ERROR" } x',
])('parseFilterPattern throws for a pattern in a form that the stack does not use: %s', (pattern) => {
  expect(() => parseFilterPattern(pattern)).toThrow('cannot be evaluated here');
});

test.each(['{ $.message.error = "50001" }', '{ $.level != 7 }'])(
  'matching a filter pattern throws an error if the pattern compares text with a number, because AWS does not document the result: %s',
  (pattern) => {
    expect(() => parseFilterPattern(pattern)(line)).toThrow('cannot be evaluated here');
  },
);

test('valueAt returns the string or number at a selector such as $.message.outcome, and undefined for anything else', () => {
  const selectors = ['$.level', '$.message.error', '$.message.cause', '$.message.tags', '$.missing'];
  expect(selectors.map((selector) => valueAt(selector, line))).toEqual([
    'ERROR',
    50001,
    undefined,
    undefined,
    undefined,
  ]);
});
