/**
 * Tests that docs/cost.md adds up its costs correctly and uses the functions' memory size, and that README.md has the
 * same sums.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { prod, propertiesOf } from './kit/template.ts';

const read = (file: string): string => readFileSync(path.resolve(import.meta.dirname, '..', file), 'utf8');

/**
 * Finds the table in docs/cost.md that has `head` in its header. Returns the text of the first cell of each row, and
 * the numbers in each of its other cells.
 */
const table = (head: string): { what: string; numbers: number[][] }[] => {
  const [, text = ''] = read('docs/cost.md').split(`${head} |`);
  const rows = text.split('\n\n')[0]?.split('\n').slice(2) ?? [];
  return rows.map((row) => {
    const [what = '', ...cells] = row.replaceAll('*', '').split('|').slice(1, -1);
    return { what, numbers: cells.map((cell) => (cell.match(/[\d.]+/g) ?? ['0']).map(Number)) };
  });
};

const sumOf = (rows: { numbers: number[][] }[], column: number, pick: (range: number[]) => number): number =>
  rows.reduce((sum, { numbers }) => sum + pick(numbers[column] ?? []), 0);
const least = (range: number[]): number => range[0] ?? Number.NaN;
const most = (range: number[]): number => range.at(-1) ?? Number.NaN;

test('docs/cost.md correctly adds up the cost of adding a million plants; the sum is below 3.80 dollars, and README.md has the same sum', () => {
  const rows = table('of up to 1 KB');
  const end = rows.findIndex(({ what }) => what.includes('together'));
  const together = least(rows[end]?.numbers[0] ?? []);
  expect(sumOf(rows.slice(0, end), 0, least)).toBeCloseTo(together, 2);
  expect(together).toBeLessThan(3.8);
  expect(read('README.md')).toContain(`[${together} dollars](docs/cost.md)`);
});

test('docs/cost.md correctly adds up the monthly costs that do not depend on the number of requests, and README.md has the sum for a service with one client', () => {
  const rows = table('a month, besides the requests');
  const parts = rows.slice(0, -1);
  const [quiet, used] = rows.at(-1)?.numbers ?? [];
  expect(sumOf(parts, 0, least)).toBeCloseTo(most(quiet ?? []), 2);
  expect([sumOf(parts, 1, least), sumOf(parts, 1, most)].map(Math.round)).toEqual(used);
  expect(read('README.md').replaceAll('\n', ' ')).toContain(`plus ${used?.join(' to ')} a month`);
});

test('docs/cost.md computes the cost of Lambda with the memory size that the functions have', () => {
  const sizes = Object.values(propertiesOf('AWS::Lambda::Function', prod)).map(({ MemorySize }) => MemorySize);
  const [size, ...others] = new Set(sizes);
  expect(others).toEqual([]);
  expect(read('docs/cost.md')).toContain(`${(Number(size) / 1_024).toFixed(2)} GB ×`);
});
