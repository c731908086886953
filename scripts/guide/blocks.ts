/** The code blocks of a guide, whose fences say which file they make (```ts FILE) or change (```diff FILE). */

/** For a change, `lines` begin with a space (kept), a minus (removed) or a plus (added). */
export type Block = { file: string; isChange: boolean; lines: string[] };

/** Returns the blocks of a document that name a file. */
export const readBlocks = (markdown: string): Block[] =>
  [...markdown.matchAll(/^```(\w+) (\S+)\n(.*?)^```$/gms)].map(([, language, file = '', text = '']) => ({
    file,
    isChange: language === 'diff',
    lines: text.split('\n').slice(0, -1),
  }));

/** Returns the lines that a block's file has before or after the change. A line that is empty stands for one that is kept. */
const side = ({ lines }: Block, sign: '-' | '+'): string =>
  lines
    .filter((line) => line === '' || line.startsWith(' ') || line.startsWith(sign))
    .map((line) => `${line.slice(1)}\n`)
    .join('');

/**
 * Applies a block to its file's text, which is undefined if there is no such file.
 * @throws Error with a sentence for the user if a new file exists, or the old lines are not in the file exactly once
 */
export const applyBlock = (block: Block, text: string | undefined): string => {
  const { file, isChange, lines } = block;
  if (!isChange) {
    if (text !== undefined) throw new Error(`${file} exists already.`);
    return `${lines.join('\n')}\n`;
  }
  const before = side(block, '-');
  // The line break in front makes sure that whole lines are found.
  const whole = `\n${text}`;
  const start = whole.indexOf(`\n${before}`);
  if (text === undefined || start === -1 || whole.includes(`\n${before}`, start + 1)) {
    throw new Error(`${file} must have these lines exactly once:\n${before}`);
  }
  return text.slice(0, start) + side(block, '+') + text.slice(start + before.length);
};

/** What an operation costs. Documents do not count; blank lines do. */
export type Price = { newFiles: number; changedFiles: number; lines: number; testsEdited: number };

/** The most that an operation may cost. */
const target: Price = { newFiles: 4, changedFiles: 4, lines: 150, testsEdited: 0 };

export const priceOf = (blocks: Block[]): Price => {
  const counted = blocks.filter(({ file }) => !file.endsWith('.md'));
  const files = (isChange: boolean) => [
    ...new Set(counted.filter((each) => each.isChange === isChange).map(({ file }) => file)),
  ];
  const added = counted.flatMap(({ isChange, lines }) =>
    isChange ? lines.filter((line) => line.startsWith('+')) : lines,
  );
  return {
    newFiles: files(false).length,
    changedFiles: files(true).length,
    lines: added.length,
    testsEdited: files(true).filter((file) => /(?:^|\/)test\//.test(file)).length,
  };
};

export const sentenceOf = ({ newFiles, changedFiles, lines, testsEdited }: Price): string =>
  `new files ${newFiles}, changed files ${changedFiles}, lines ${lines}, existing tests edited ${testsEdited}`;

export const isWithinTarget = (price: Price): boolean =>
  Object.entries(target).every(([part, most]) => price[part as keyof Price] <= most);
