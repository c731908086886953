/**
 * Tests how `npm run guide` reads and applies a guide's code blocks. .ci/run applies the real guide to a copy of the
 * project.
 */
import { describe, expect, test } from 'vitest';
import { applyBlock, isWithinTarget, priceOf, readBlocks, sentenceOf } from '../../scripts/guide/blocks.ts';

const guide = `Text.

\`\`\`ts functions/create-plant.ts
export {};

\`\`\`

\`\`\`diff infra/grants.ts
 one
-two
+second

+third
\`\`\`

\`\`\`sh
npm test
\`\`\`
`;

const [made = never(), changed = never()] = readBlocks(guide);

function never(): never {
  throw new Error('A block is missing.');
}

test("readBlocks returns a block for each of a guide's code fences that names a file", () => {
  expect(readBlocks(guide)).toEqual([
    { file: 'functions/create-plant.ts', kind: 'new', lines: ['export {};', ''] },
    { file: 'infra/grants.ts', kind: 'diff', lines: [' one', '-two', '+second', '', '+third'] },
  ]);
});

describe("a guide's code block", () => {
  test('creates the file that it names', () => {
    expect(applyBlock(made, undefined)).toBe('export {};\n\n');
  });

  test('is refused if the file that it would create already exists', () => {
    expect(() => applyBlock(made, '')).toThrow('functions/create-plant.ts exists already.');
  });

  test('replaces, in the file, the lines marked with a minus by those marked with a plus, and keeps empty lines', () => {
    expect(applyBlock(changed, 'zero\none\ntwo\n\nfour\n')).toBe('zero\none\nsecond\n\nthird\nfour\n');
    expect(applyBlock(changed, 'one\ntwo\n\n')).toBe('one\nsecond\n\nthird\n');
  });

  test.each([
    ['twice', 'one\ntwo\n\none\ntwo\n\n'],
    ['not at all', 'one\ntwo\nthree\n'],
    ['only as parts of longer lines', 'zero one\ntwo\n\n'],
  ])('is refused if the lines to replace occur %s in the file', (_, text) => {
    expect(() => applyBlock(changed, text)).toThrow(
      /^infra\/grants\.ts must have these lines exactly once:\none\ntwo\n/,
    );
  });
});

test("a guide's code block is refused if the file that the block changes does not exist", () => {
  expect(() => applyBlock(changed, undefined)).toThrow('infra/grants.ts does not exist.');
});

describe("a guide's YAML block", () => {
  const lines = ['paths:', '  /b:', '    get:', '      summary: new'];
  const block = { file: 'a.yaml', kind: 'yaml' as const, lines };
  const file = (more: string) => `info: 1\npaths:\n  /a:\n    get: { x: [1] }\n${more}other:\n  /b: 2\n`;

  test('is inserted after all paths of the contract if the path in the block is new', () => {
    expect(applyBlock(block, file(''))).toBe(file('  /b:\n    get:\n      summary: new\n'));
  });

  test('is inserted into an existing path if the contract has that path with another operation', () => {
    const put = '  /b:\n    put:\n      summary: old\n';
    expect(applyBlock(block, file(`${put}  /c: {}\n`))).toBe(file(`${put}    get:\n      summary: new\n  /c: {}\n`));
  });

  test('is refused if the contract already has the operation that the block would add', () => {
    expect(() => applyBlock(block, file('  /b:\n    get:\n      summary: old\n'))).toThrow('a.yaml already has');
  });
});

describe('the size of the changes that a guide tells readers to make', () => {
  const line = (file: string) => ({ file, kind: 'diff' as const, lines: ['+x', ' y'] });

  test('includes new files, changed files (each once), added lines (even blank ones) and edited tests, but no documents', () => {
    const price = priceOf([made, changed, line('infra/grants.ts'), line('CHANGELOG.md')]);
    expect(sentenceOf(price)).toBe('new files 1, changed files 1, lines 5, existing tests edited 0');
    expect(isWithinTarget(price), 'is within the target').toBe(true);
  });

  test.each([
    ['an edited test', [line('test/start.test.ts')]],
    ['an edited test of the emulator', [line('emulator/test/serve.test.ts')]],
    ['five new files', ['a', 'b', 'c', 'd', 'e'].map((file) => ({ ...made, file }))],
    ['five changed files', ['a', 'b', 'c', 'd', 'e'].map(line)],
    ['151 lines', [{ ...made, lines: Array<string>(151).fill('') }]],
  ])('is more than the limits of npm run guide allow if the changes include %s', (_, blocks) => {
    expect(isWithinTarget(priceOf(blocks)), 'is within the target').toBe(false);
  });
});
