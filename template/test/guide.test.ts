/**
 * Tests how `npm run guide` reads and applies a guide's code blocks. .ci/run applies the real guide to a copy of the
 * project.
 */

import { readContract } from 'openapi-contract';
import { describe, expect, test } from 'vitest';
import { reasonToSkip } from '../contract.ts';
import { applyBlock, type Block, isWithinTarget, priceOf, readBlocks, sentenceOf } from '../guide/blocks.ts';

const guide = `Text.

\`\`\`ts functions/create-plant.ts
export {};

\`\`\`

\`\`\`diff infra/plant-store-stack.ts
 one
-two
+second

+third
\`\`\`

\`\`\`sh
npm test
\`\`\`
`;

const [created, changed] = readBlocks(guide) as [Block, Block];

test("readBlocks returns a block for each of a guide's code fences that names a file", () => {
  expect(readBlocks(guide)).toEqual([
    { file: 'functions/create-plant.ts', kind: 'new', lines: ['export {};', ''] },
    { file: 'infra/plant-store-stack.ts', kind: 'diff', lines: [' one', '-two', '+second', '', '+third'] },
  ]);
});

describe("a guide's code block", () => {
  test('creates the file that it names, unless the file exists', () => {
    expect(applyBlock(created, undefined)).toBe('export {};\n\n');
    expect(() => applyBlock(created, '')).toThrow('functions/create-plant.ts exists already.');
  });

  test('replaces, in the file, the lines marked with a minus by those marked with a plus, and keeps empty lines', () => {
    expect(applyBlock(changed, 'zero\none\ntwo\n\nfour\n')).toBe('zero\none\nsecond\n\nthird\nfour\n');
    expect(() => applyBlock(changed, undefined)).toThrow('infra/plant-store-stack.ts does not exist.');
  });

  test.each([
    ['twice', 'one\ntwo\n\none\ntwo\n\n'],
    ['not at all', 'one\ntwo\nthree\n'],
    ['only as parts of longer lines', 'zero one\ntwo\n\n'],
  ])('is refused if the lines to replace occur %s in the file', (_, text) => {
    expect(() => applyBlock(changed, text)).toThrow(
      /^infra\/plant-store-stack\.ts must have these lines exactly once:\none\ntwo\n/,
    );
  });
});

test.skipIf(reasonToSkip())(
  'what is written for our contract is skipped if another has other operations or fields',
  () => {
    const contract = readContract('schemas/openapi.yaml');
    const { Plant = {} } = contract.components.schemas;
    Plant['properties'] = { pot: { type: 'string', format: 'uuid' } };
    expect(reasonToSkip(contract)).toMatch(/ has createPlant\(id: int64, pot\?: uuid\)\.$/);
    contract.paths = {};
    expect(reasonToSkip(contract)).toBeDefined();
  },
);

describe("a guide's YAML block", () => {
  const lines = ['paths:', '  /b:', '    get:', '      summary: new'];
  const block = { file: 'a.yaml', kind: 'yaml' as const, lines };
  const file = (more: string) => `info: 1\npaths:\n  /a:\n    get: { x: [1] }\n${more}other:\n  /b: 2\n`;

  test('is inserted after all paths of the contract, or into the path if the contract has that with another operation', () => {
    expect(applyBlock(block, file(''))).toBe(file('  /b:\n    get:\n      summary: new\n'));
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
    const price = priceOf([created, changed, line('infra/plant-store-stack.ts'), line('CHANGELOG.md')]);
    expect(sentenceOf(price)).toBe('new files 1, changed files 1, lines 5, existing tests edited 0');
    expect(isWithinTarget(price), 'is within the target').toBe(true);
  });

  test.each([
    ['an edited test', [line('packages/emulator/test/serve.test.ts')]],
    ['five new files', ['a', 'b', 'c', 'd', 'e'].map((file) => ({ ...created, file }))],
    ['151 lines', [{ ...created, lines: Array<string>(151).fill('') }]],
  ])('is more than the limits of npm run guide allow if the changes include %s', (_, blocks) => {
    expect(isWithinTarget(priceOf(blocks)), 'is within the target').toBe(false);
  });
});
