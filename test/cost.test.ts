/** Tests that docs/cost.md adds up, has the memory size of the functions, and has the same sums as README.md. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { prod, propertiesOf } from './kit/template.ts';

const read = (file: string): string => readFileSync(path.resolve(import.meta.dirname, '..', file), 'utf8');

/** Returns the rows of the table whose head has this text: the text of each row, and the numbers in its other cells. */
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

test('docs/cost.md says that a million plants cost the sum of its rows, which is below 3.80 dollars and also in README.md', () => {
  const rows = table('of up to 1 KB');
  const end = rows.findIndex(({ what }) => what.includes('together'));
  const together = least(rows[end]?.numbers[0] ?? []);
  expect(sumOf(rows.slice(0, end), 0, least)).toBeCloseTo(together, 2);
  expect(together).toBeLessThan(3.8);
  expect(read('README.md')).toContain(`[${together} dollars](docs/cost.md)`);
});

test('docs/cost.md says that a month costs the sum of its rows; with a client, README.md has the sum in whole dollars, too', () => {
  const rows = table('a month, besides the requests');
  const parts = rows.slice(0, -1);
  const [quiet, used] = rows.at(-1)?.numbers ?? [];
  expect(sumOf(parts, 0, least)).toBeCloseTo(most(quiet ?? []), 2);
  expect([sumOf(parts, 1, least), sumOf(parts, 1, most)].map(Math.round)).toEqual(used);
  expect(read('README.md').replaceAll('\n', ' ')).toContain(`a month with one client costs ${used?.join(' to ')}`);
});

test('docs/cost.md has the memory size of the functions in the price of Lambda', () => {
  const sizes = Object.values(propertiesOf('AWS::Lambda::Function', prod)).map(({ MemorySize }) => MemorySize);
  const [size, ...others] = new Set(sizes);
  expect(others).toEqual([]);
  expect(read('docs/cost.md')).toContain(`${(Number(size) / 1_024).toFixed(2)} GB ×`);
});
