import path from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { serviceTests } from '../preset.ts';

const own = process.argv;
afterEach(() => {
  process.argv = own;
});

type Config = { testTimeout: number; projects: { test: { include: string[] } }[] };

/** Reads the configuration that Vitest gets if it is called with these arguments. */
const read = (...given: string[]) => {
  process.argv = ['node', 'vitest', ...given];
  const config = serviceTests('test/service.ts', ['packages/*/test', 'test']) as (options: { mode: string }) => object;
  const { testTimeout, projects } = Object(config({ mode: 'test' })).test as Config;
  return { testTimeout, include: projects.flatMap((each) => each.test.include) };
};

test.each([
  [['run'], false],
  [['run', '-t', 'a name', '--exclude', '**/*.e2e.ts'], false],
  [['run', 'packages/testing/test'], false],
  [['run', '.e2e.'], true],
  [['run', 'test/suite/losses.trial.ts:7', '--bail=1'], true],
])('Vitest with %j runs end-to-end tests and trials, which may take long: %j', (given, expected) => {
  const { testTimeout, include } = read(...given);
  expect(include.join().includes('e2e')).toBe(expected);
  expect(testTimeout > 60_000).toBe(expected);
});

const all = ['packages/*/test', 'test'];

test.each<[given: string[], folders: string[]]>([
  [['packages/testing'], ['packages/testing/test']],
  [['./packages/testing/test/kit/'], ['packages/testing/test/kit']],
  [['test'], ['test']],
  [[path.resolve('test')], ['test']],
  [['test', '--bail=1'], ['test']],
  // A file, a folder without tests, and what may be the value of an option are left to Vitest.
  [['packages/testing/test/preset.test.ts'], all],
  [['docs'], all],
  [['-t', 'test'], all],
])('Vitest with %j finds tests in %j', (given, expected) => {
  const folders = read('run', ...given).include.map((pattern) => pattern.replace(/\/\*\*.*/, ''));
  expect([...new Set(folders)]).toEqual(expected);
});
