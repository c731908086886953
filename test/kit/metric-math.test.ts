import { expect, test } from 'vitest';
import { evaluateMath } from './metric-math.ts';

const share = 'IF(all > 0, 100 * FILL(some, 0) / all, 0)';

test.each<[expression: string, values: Record<string, number>, result: number | undefined]>([
  ['a', { a: 7 }, 7],
  ['a', {}, undefined],
  ['1 + 2 * 3', {}, 7],
  ['100 * a / b', { a: 1, b: 8 }, 12.5],
  ['a / b', { a: 1, b: 0 }, undefined],
  ['a + b', { a: 1 }, undefined],
  ['FILL(a, 0) + FILL(b, 0)', { a: 1 }, 1],
  ['FILL(a, 0) + FILL(b, 0)', {}, 0],
  ['FILL(a, 0)', { a: 3 }, 3],
  ['a > 2', { a: 3 }, 1],
  ['a > 2', { a: 2 }, 0],
  // The examples of IF:
  // https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/using-metric-math.html#using-IF-expressions
  ['IF(a, b, 5)', { a: 1, b: 30 }, 30],
  ['IF(a, b, 5)', { a: 1 }, 0],
  ['IF(a, b, 5)', { a: 0 }, 5],
  ['IF(a, b, 5)', { b: 30 }, undefined],
  ['IF(a, 5, b)', { a: 0 }, undefined],
  [share, { all: 8, some: 2 }, 25],
  [share, { all: 8 }, 0],
  [share, { all: 0, some: 2 }, 0],
  [share, { some: 2 }, undefined],
])(
  'evaluateMath computes what CloudWatch does, except that arithmetic with missing data has no result: %s with %o is %s',
  (expression, values, result) => {
    expect(evaluateMath(expression, (id) => values[id])).toBe(result);
  },
);

test.each([
  '',
  'a b',
  'a +',
  '+ a',
  'a - b',
  '(a + b)',
  'a >= b',
  'a > b > c',
  'FILL(a)',
  'FILL(a, 0',
  'FILL(a, 0, 0)',
  'FILL(a, REPEAT)',
  'IF(a, b)',
  'SUM(METRICS())',
  'RATE(a)',
  'A',
  'process.exit(1)',
])('evaluateMath throws for metric math that the alarms do not use: %s', (expression) => {
  expect(() => evaluateMath(expression, () => 1)).toThrow('cannot be evaluated here');
});
