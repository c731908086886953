import { type Noun, styles, takesAn } from './noun.ts';

/** The kind of text that a character belongs to: `code`, or `text`, such as a comment, a literal or a document. */
export type Kind = 'code' | 'text';

/** Leaves the name of a species alone: an example is called "Swiss cheese plant". */
const found = /(?<!\bcheese )[pP]lant(?:s(?![a-z]))?|PLANT(?:S(?![A-Z]))?/g;
/** Matches the article `a` right before the word plant. In a comment, the article may be on the line before. */
const article = /\ba(?:[\s-]+|\s+(?:\*|\/\/)\s+)["'(`]?$/i;
const fileName = /^(?:\.\w+)*\.(?:[cm]?[jt]s|json|ndjson|ya?ml|md)\b/;

/** Whether a lower-case word is part of a path, a URL, a scope, or a pattern that matches one of these. */
const isInPath = (before: string, after: string): boolean =>
  /[-/@=:|／]$/.test(before) || /^(?:[-/@|%／]|\\[./\\-])/.test(after) || fileName.test(after);

/**
 * Chooses how to write a noun, such as customerOrder or customer-order, by the case of `word`, the `kind` of text it is
 * in, and the text `before` and `after` it. `before` and `after` matter only for nouns of several words.
 */
const styleOf = (word: string, before: string, after: string, kind: Kind): keyof typeof styles => {
  const isPart = /^\w/.test(after);
  if (word === word.toUpperCase()) return 'constant';
  if (word.startsWith('P')) {
    if (kind === 'code' || isPart || /\w$/.test(before)) return 'pascal';
    if (/^ [A-Z]/.test(after)) return 'title';
    return /(?:^|[.?!*/#'"`]\s*|: )$/.test(before) && /^ [a-z]/.test(after) ? 'sentence' : 'pascal';
  }
  if (/[A-Za-z]$/.test(before) || /^[a-z]/.test(after)) return 'flat';
  if (kind === 'code' || isPart) return 'camel';
  if (isInPath(before, after)) return 'kebab';
  if (/\w\.$/.test(before) || /^\.\w/.test(after)) return 'camel';
  if (/`$/.test(before) && /^`/.test(after)) return 'camel';
  if (/["'.]$/.test(before) && /^["'`]/.test(after)) return 'kebab';
  const isKey = /(?:\n *|[{,] )$/.test(before) && /^:\s/.test(after);
  return isKey || (/[([{]$/.test(before) && /^[)\]},]/.test(after)) ? 'camel' : 'spaced';
};

/**
 * Replaces the words plant and plants, in any style (Plant, PLANTS), with the new noun. `kindAt` returns the `Kind` of
 * the character at an index.
 */
export const respell = (text: string, noun: Noun, kindAt: (index: number) => Kind): string => {
  let respelled = '';
  let end = 0;
  for (const { 0: word, index } of text.matchAll(found)) {
    const kind = kindAt(index);
    const before = text.slice(Math.max(0, index - 40), index);
    const after = text.slice(index + word.length, index + word.length + 20);
    const name = /s$/i.test(word) ? noun.plural : noun.singular;
    let between = text.slice(end, index);
    if (takesAn(noun)) between = between.replace(article, (a) => `${a.charAt(0)}n${a.slice(1)}`);
    respelled += between + styles[styleOf(word, before, after, kind)](name.split('-'));
    end = index + word.length;
  }
  return respelled + text.slice(end);
};
