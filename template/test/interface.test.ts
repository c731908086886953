/** Tests what counts as a change that breaks a service. packages.runtimes.ts compares the packages with their last release. */
import { expect, test } from 'vitest';
import { breaksOf, unsaid } from '../interface.ts';

const before = `@x/a: Thing
  type Thing = {
      name: string;
      id: { name: number; };
      inner: {
          id: { name: number; };
      };
  };
setting stage
`;

test.each<[what: string, from: string, to: string, breaks: string[]]>([
  ['nothing', '', '', []],
  ['an export more', 'setting', '@x/a: Other\nsetting', []],
  ['an optional property more', '      name', '      size?: number;\n      name', []],
  ['an export less', '@x/a: Thing\n', '@x/a: Other\n', ['@x/a: Thing is gone']],
  ['a setting less', 'setting stage\n', '', ['setting stage is gone']],
  ['a required property more', '      name', '      size: number;\n      name', ['@x/a: Thing has changed']],
  ['a property less', '      name: string;\n', '', ['@x/a: Thing has changed']],
  ['one of two equal lines less', '          id: { name: number; };\n', '', ['@x/a: Thing has changed']],
  ['another type', 'string', 'number', ['@x/a: Thing has changed']],
])('an interface with %s', (_, from, to, breaks) => {
  expect(breaksOf(before, before.replace(from, to))).toEqual(breaks);
});

const changelogWith = (kind: string, entry: string) => `# Changes\n\n## Unreleased\n\n### ${kind}\n\n- ${entry}\n`;

const known = changelogWith('Breaking', '`Thing` is new.');

test.each<[what: string, changelog: string, unsaid: string[]]>([
  ['names it', changelogWith('Breaking', '`Thing` has no name:\n  use its id.'), []],
  ['names it as another kind of change', changelogWith('Changed', '`Thing` has no name.'), ['@x/a: Thing has changed']],
  ['names something else', changelogWith('Breaking', '`Things` are gone.'), ['@x/a: Thing has changed']],
  ['has only the word', changelogWith('Breaking', 'Thing has no name.'), ['@x/a: Thing has changed']],
  ['has named it before', known, ['@x/a: Thing has changed']],
])('a change that breaks services is refused unless the changelog names it: one that %s', (_, changelog, expected) => {
  const after = before.replace('string', 'number');
  expect(unsaid({ text: before, changelog: known }, { text: after, changelog })).toEqual(expected);
});
