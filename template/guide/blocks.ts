/**
 * Applies those code blocks of a guide that name a file. A ```diff or ```yaml block changes its file; any other block
 * creates its file.
 */
import { isMap, parseDocument } from 'yaml';

/**
 * A code block that changes or creates `file`. A line of a `diff` begins with a space (kept), a minus (removed) or a
 * plus (added). A `yaml` block is inserted into `file`. A `new` block is the whole of a new file.
 */
export type Block = { file: string; kind: 'new' | 'diff' | 'yaml'; lines: string[] };

/** Returns those code blocks of a Markdown document that have the name of a file after the language. */
export const readBlocks = (markdown: string): Block[] =>
  [...markdown.matchAll(/^```(\w+) (\S+)\n(.*?)^```$/gms)].map(([, language, file = '', text = '']) => ({
    file,
    kind: language === 'diff' || language === 'yaml' ? language : 'new',
    lines: text.split('\n').slice(0, -1),
  }));

/**
 * Returns the lines of a diff block that are in the file before the change (`-`) or after the change (`+`). The block's
 * empty lines are in both.
 */
const side = ({ lines }: Block, sign: '-' | '+'): string =>
  lines
    .filter((line) => line === '' || line.startsWith(' ') || line.startsWith(sign))
    .map((line) => `${line.slice(1)}\n`)
    .join('');

/**
 * Applies a code block of a guide to the text of the file that it names; `text` is undefined if the file does not
 * exist.
 * @returns the new text
 * @throws Error with a sentence for the user if the file to create exists already, or if the block does not fit the
 * file
 */
export const applyBlock = (block: Block, text: string | undefined): string => {
  const { file, kind, lines } = block;
  if (kind === 'new') {
    if (text !== undefined) throw new Error(`${file} exists already.`);
    return `${lines.join('\n')}\n`;
  }
  if (text === undefined) throw new Error(`${file} does not exist.`);
  return kind === 'diff' ? applyDiff(block, text) : insertYaml(block, text);
};

const applyDiff = (block: Block, text: string): string => {
  const before = side(block, '-');
  // Search for `before` with a line break in front, so that it is found only at the start of a line. As `before` ends
  // with a line break, only whole lines match.
  const whole = `\n${text}`;
  const start = whole.indexOf(`\n${before}`);
  if (start === -1 || whole.includes(`\n${before}`, start + 1)) {
    throw new Error(`${block.file} must have these lines exactly once:\n${before}`);
  }
  return text.slice(0, start) + side(block, '+') + text.slice(start + before.length);
};

/**
 * Inserts a YAML block. The block's first lines may repeat nested keys of the file, such as `paths:`; its other lines
 * are added at the end of the map under the innermost of these keys.
 */
const insertYaml = ({ file, lines }: Block, text: string): string => {
  const document = parseDocument(text);
  let parent: unknown = document.contents;
  for (const [index, line] of lines.entries()) {
    const key = line.trim().replace(/:$/, '');
    if (!isMap(parent)) break;
    const value = parent.get(key, true);
    if (value === undefined && !line.includes(': ')) {
      const end = parent.range?.[2] ?? text.length;
      return `${text.slice(0, end)}${lines.slice(index).join('\n')}\n${text.slice(end)}`;
    }
    parent = value;
  }
  throw new Error(`${file} already has what this block adds:\n${lines.join('\n')}`);
};

/**
 * What a new operation costs its developer: how many files and lines to add or change. Blank lines are counted,
 * documents are not.
 */
export type Price = { newFiles: number; changedFiles: number; lines: number; testsEdited: number };

/** How many files and lines the guide may make a developer add or change. `npm run guide` fails above these limits. */
const target: Price = { newFiles: 4, changedFiles: 4, lines: 150, testsEdited: 0 };

export const priceOf = (blocks: Block[]): Price => {
  const counted = blocks.filter(({ file }) => !file.endsWith('.md'));
  const files = (isNew: boolean) => [
    ...new Set(counted.filter(({ kind }) => (kind === 'new') === isNew).map(({ file }) => file)),
  ];
  const added = counted.flatMap(({ kind, lines }) =>
    kind === 'diff' ? lines.filter((line) => line.startsWith('+')) : lines,
  );
  return {
    newFiles: files(true).length,
    changedFiles: files(false).length,
    lines: added.length,
    testsEdited: files(false).filter((file) => /(?:^|\/)test\//.test(file)).length,
  };
};

export const sentenceOf = ({ newFiles, changedFiles, lines, testsEdited }: Price): string =>
  `new files ${newFiles}, changed files ${changedFiles}, lines ${lines}, existing tests edited ${testsEdited}`;

export const isWithinTarget = (price: Price): boolean =>
  Object.entries(target).every(([part, most]) => price[part as keyof Price] <= most);
