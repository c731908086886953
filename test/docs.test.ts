/**
 * Tests that each file, heading, npm script and command that a document names exists (all but headings also for comments
 * and configurations), that no document gets too long, and that README shows the code as it is and leads to every page.
 * AGENTS.md must list every npm script. The costs in docs/cost.md must add up.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { prod, propertiesOf } from '@lambda-service/testing/stack';
import { parseSync } from 'oxc-parser';
import { describe, expect, test } from 'vitest';
import packageJson from '../package.json' with { type: 'json' };

const root = path.resolve(import.meta.dirname, '..');
const read = (file: string): string => readFileSync(path.join(root, file), 'utf8');

const files = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], { cwd: root })
  .toString()
  .split('\0')
  .filter((file) => file !== '' && existsSync(path.join(root, file)));
const ignored = read('.gitignore').trim().split('\n');
/** Files and folders that are made by commands, such as `npm version` and `npm run new`. */
const made = [...ignored, 'schemas/released', 'vendor/'];
const folders = [...new Set(files.filter((file) => file.includes('/')).map((file) => file.split('/')[0]))];

/** Whether a file names files of this project: those of template/service/ name a new service's. */
const isOurs = (file: string): boolean => !file.startsWith('template/service/');

// Tests check that these files mention only files and commands that exist. Left out are data, the changelog (it names
// removed ones), and this file (its patterns look like file names).
const texts = files
  .filter(isOurs)
  .filter(
    (file) =>
      path.join(root, file) !== import.meta.filename &&
      /\.(md|ts|cjs|mjs|js|json|ya?ml|html|css|sh|svg)$|^\.ci\/run$/.test(file) &&
      !/^CHANGELOG\.md$|package-lock\.json$|\/results\.json$/.test(file),
  );
const documents = files.filter((file) => file.endsWith('.md') && isOurs(file));

/** Guides. Their code blocks name files that do not exist yet, because their readers add them. */
const guides = ['docs/add-an-operation.md', 'docs/add-a-queue.md'];
const toBeAdded = guides.flatMap((file) => [...read(file).matchAll(/^```\w+ (\S+)$/gm)].map(([, added = '']) => added));

/** Matches a path from the project's root, but not a part of a URL, nor the relative path of an import. */
const fromRoot = new RegExp(`(?<![\\w./@:<>$*-])(?:${folders.join('|').replaceAll('.', '\\.')})/[\\w.*{},/-]*`, 'g');
/** Matches the name of a file or a folder (`http/`), with or without some of its parent folders. */
const byName = /(?<![\w./@:<>$*-])[\w-][\w./-]*(?:\.(?:ts|cjs|ya?ml|md)\b(?![/.\w])|\/(?=[\s`]))/g;

const find = (text: string, pattern: RegExp): string[] =>
  [...text.matchAll(pattern)].map(([name]) => name.replace(/[.,]+$/, ''));

const isPath = (name: string): boolean =>
  /[*{]/.test(name) ? globSync(name, { cwd: root }).length > 0 : existsSync(path.join(root, name));

const isName = (name: string): boolean => files.some((file) => `/${file}/`.includes(`/${name.replace(/\/$/, '')}/`));

/** Documents, comments and configurations may name a file that a command makes although it does not exist yet. */
const isMade = (name: string): boolean =>
  made.some((line) => `/${name}/`.includes(`/${line}`) || `/${line}`.endsWith(`/${name}`));

/**
 * Returns the text in which names of files and folders may lack their parent folders, as in `plant.ts` or `http/`: a
 * whole document, but only the comments of a source file.
 */
const proseOf = (file: string, text: string): string => {
  if (/\.(json|css)$/.test(file)) return '';
  if (!/\.[cm]?[jt]s$/.test(file)) return text;
  return parseSync(file, text)
    .comments.map(({ value }) => value)
    .join('\n');
};

test('documents, comments and configurations name only files and folders that exist', () => {
  const stale = texts.map((file) => {
    const text = read(file);
    const names = [
      ...find(text, fromRoot).filter((name) => !isPath(name)),
      ...find(proseOf(file, text), byName).filter((name) => !isName(name)),
    ].filter((name) => !guides.includes(file) || !toBeAdded.some((added) => `/${added}`.endsWith(`/${name}`)));
    return [file, [...new Set(names)].filter((name) => !isMade(name)).sort()] as const;
  });
  expect(Object.fromEntries(stale.filter(([, names]) => names.length > 0))).toEqual({});
});

/** The most words that a document may have, as `wc -w` counts them. */
const wordLimits: Record<string, number> = {
  'README.md': 850,
  'CHANGELOG.md': 2_000,
  'docs/operate/runbook.md': 3_500,
};

describe.each(documents)('%s', (document) => {
  test('has no more words than its limit', () => {
    expect(read(document).trim().split(/\s+/).length).toBeLessThanOrEqual(wordLimits[document] ?? 1_500);
  });

  test('links only to files and headings that exist', () => {
    const dead = linksIn(document).filter((link) => {
      const [file = '', heading] = link.split('#');
      if (!existsSync(path.join(root, file))) return true;
      return heading !== undefined && !headings(read(file)).includes(heading);
    });
    expect(dead).toEqual([]);
  });
});

test('every page in docs/, and what cannot wait, is two steps from README: its index links to them', () => {
  const index = 'docs/README.md';
  expect(linksIn('README.md')).toContain(index);
  const wanted = [
    ...documents.filter((file) => file.startsWith('docs/') && file !== index),
    'docs/operate/runbook.md#undo-a-deployment',
    'docs/operate/backup.md#restore-plants',
    'docs/operate/runbook.md#rotate-keys-and-secrets',
    'docs/operate/runbook.md#remove-the-stack',
    'docs/scale.md#which-limit-you-hit-first',
    '.github/SUPPORT.md',
  ];
  expect(wanted.filter((link) => !linksIn(index).includes(link))).toEqual([]);
});

/** Removes what a formatter decides: white space, and commas before a closing bracket. */
const withoutLayout = (code: string): string => code.replaceAll(/\s+/g, '').replaceAll(/,(?=[)\]}])/g, '');

test('README shows the code as it is in the files that its code blocks name', () => {
  const blocks = [...read('README.md').matchAll(/^```ts (\S+)\n(.*?)^```$/gms)];
  const wrong = blocks.filter(([, file = '', code = '']) => !withoutLayout(read(file)).includes(withoutLayout(code)));
  const advice = 'README.md must show these files as they are';
  expect(
    wrong.map(([block]) => block),
    advice,
  ).toEqual([]);
  expect(blocks).not.toEqual([]);
});

/** The commands of `npx @lambda-service/tools`. */
const help = execFileSync(process.execPath, ['packages/tools/bin.js', '--help'], { cwd: root, encoding: 'utf8' });
const commands = [...help.matchAll(/^ {2}([a-z][\w-]*) {2,}/gm)].map(([, name = '']) => name);

/** Returns the npm scripts that a text names. npm runs three of them without the word `run`, as in `npm test`. */
const scriptsIn = (text: string): string[] =>
  [...text.matchAll(/npm (?:run (?:-s )?([a-z][\w:-]*)|(start|test|version)\b)/g)].map(([, a, b]) => a ?? b ?? '');

const commandsIn = (text: string): string[] =>
  [...text.matchAll(/(?:@lambda-service\/tools|(?<![@/\w-])lambda-service) ([a-z][\w-]*)/g)].map(
    ([, name = '']) => name,
  );

test('documents, comments and configurations name only npm scripts and commands that exist', () => {
  const stale = texts
    .filter((file) => !/(?:^|\/)test\//.test(file))
    .map((file) => {
      const text = read(file);
      const names = [
        ...scriptsIn(text).filter((script) => !(script in packageJson.scripts)),
        ...commandsIn(text).filter((command) => !commands.includes(command)),
      ];
      return [file, names] as const;
    });
  expect(Object.fromEntries(stale.filter(([, names]) => names.length > 0))).toEqual({});
});

test('AGENTS.md names every npm script, in at most 60 lines', () => {
  const text = read('AGENTS.md');
  const named = scriptsIn(text);
  expect(Object.keys(packageJson.scripts).filter((script) => !named.includes(script))).toEqual([]);
  expect(text.trimEnd().split('\n').length).toBeLessThanOrEqual(60);
});

test("the tools' README names every command, except those of the contract's operations", () => {
  const text = read('packages/tools/README.md');
  const ofOperations = [...help.matchAll(/^ {2}(\S+) +calls /gm)].map(([, name]) => name);
  const own = commands.filter((command) => !ofOperations.includes(command));
  expect(own.filter((command) => !text.includes(`\`${command}\``))).toEqual([]);
});

/** A code block may show lines of another document. */
const withoutCode = (markdown: string): string => markdown.replaceAll(/^```.*?^```$/gms, '');

/** Returns the files, with their headings, to which a document links. Paths begin at the project's root. */
const linksIn = (document: string): string[] =>
  [...withoutCode(read(document)).matchAll(/\]\((?![a-z]+:)([^)\s]*?)(#[^)\s]+)?\)/g)].map(([, file, heading = '']) =>
    file ? path.join(path.dirname(document), file) + heading : document + heading,
  );

/** Returns the anchors that GitHub derives from the headings of a document. */
const headings = (markdown: string): string[] =>
  [...markdown.matchAll(/^#+ (.*)$/gm)].map(([, text = '']) =>
    text
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );

/**
 * Finds the table in docs/cost.md that has `head` in its header. Returns the text of the first cell of each row, and
 * the numbers in each of its other cells.
 */
const table = (head: string): { what: string; numbers: number[][] }[] => {
  const [, text = ''] = read('docs/cost.md').split(`${head} |`);
  const rows = text.split('\n\n')[0]?.split('\n').slice(2) ?? [];
  return rows.map((row) => {
    const [what = '', ...cells] = row.replaceAll('*', '').split('|').slice(1, -1);
    return { what, numbers: cells.map((cell) => (cell.replaceAll(',', '').match(/[\d.]+/g) ?? ['0']).map(Number)) };
  });
};

const sumOf = (rows: { numbers: number[][] }[], column: number, pick: (range: number[]) => number): number =>
  rows.reduce((sum, { numbers }) => sum + pick(numbers[column] ?? []), 0);
const least = (range: number[]): number => range[0] ?? Number.NaN;
const most = (range: number[]): number => range.at(-1) ?? Number.NaN;

test('docs/cost.md correctly adds up the cost of adding a million plants, and README.md has the same sum', () => {
  const rows = table('of up to 1 KB');
  const end = rows.findIndex(({ what }) => what.includes('together'));
  const together = least(rows[end]?.numbers[0] ?? []);
  expect(sumOf(rows.slice(0, end), 0, least)).toBeCloseTo(together, 2);
  expect(read('README.md')).toContain(`[${together} dollars](docs/cost.md)`);
});

test('docs/cost.md correctly adds up the monthly costs that do not depend on the number of requests; README.md has the sum for a service with one client, and docs/deploy.md that of dev', () => {
  const rows = table('a month, besides the requests');
  const parts = rows.slice(0, -1);
  const [quiet, used] = rows.at(-1)?.numbers ?? [];
  expect(sumOf(parts, 0, least)).toBeCloseTo(most(quiet ?? []), 2);
  expect([sumOf(parts, 1, least), sumOf(parts, 1, most)].map(Math.round)).toEqual(used);
  expect(read('README.md').replaceAll('\n', ' ')).toContain(`plus ${used?.join(' to ')} a month`);
  const [, dev] = /nor checks from outside: (.* dollars) a month/.exec(read('docs/cost.md')) ?? [];
  expect(read('docs/deploy.md')).toContain(`[${dev} a month](cost.md)`);
});

test('docs/cost.md correctly multiplies what the worst case costs by the requests that the throttle lets through in a day', () => {
  const [stage] = Object.values(propertiesOf('AWS::ApiGatewayV2::Stage', prod));
  const { ThrottlingRateLimit: rate } = Object(stage?.['DefaultRouteSettings']);
  const rows = table('a day');
  expect(rows).toHaveLength(4);
  for (const { what, numbers } of rows) {
    const [million = [], day = []] = numbers;
    expect(least(day), what).toBe(Math.round(least(million) * rate * 0.0864));
  }
});

test('packages/cdk/limits.md gives each token and each address fewer requests than the throttle lets through in all', () => {
  const [stage] = Object.values(propertiesOf('AWS::ApiGatewayV2::Stage', prod));
  const { ThrottlingRateLimit: rate } = Object(stage?.['DefaultRouteSettings']);
  const limits = [...read('packages/cdk/limits.md').matchAll(/-c limitPer\w+=(\d+)/g)].map(([, limit]) =>
    Number(limit),
  );
  expect(limits).toHaveLength(2);
  for (const limit of limits) expect(limit / 60).toBeLessThan(rate);
});

test('docs/cost.md computes the cost of Lambda with the memory sizes that the functions have', () => {
  const sizes = Object.values(propertiesOf('AWS::Lambda::Function', prod)).map(({ MemorySize }) => MemorySize);
  for (const size of new Set(sizes)) {
    const words = `${(Number(size) / 1_024).toFixed(2)} GB ×`;
    expect(read('docs/cost.md').includes(words), `docs/cost.md must compute with ${words}`).toBe(true);
  }
});
