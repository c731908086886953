import { parseSync, Visitor } from 'oxc-parser';
import type { Noun } from './noun.ts';
import { type Kind, respell } from './respell.ts';

const isCode = (file: string): boolean => /\.[cm]?[jt]s$/.test(file);

type Parts = { kindAt: (index: number) => Kind; identifiers: Set<string> };

/** Divides a file of code into text (comments and literals) and code (all else), and collects its identifiers. */
const partsOfCode = (file: string, source: string): Parts => {
  const { comments, program } = parseSync(file, source);
  const kinds = new Array<Kind>(source.length).fill('code');
  const identifiers = new Set<string>();
  const paint = ({ start, end }: { start: number; end: number }) => kinds.fill('text', start, end);
  const name = ({ name }: { name: string }) => identifiers.add(name);
  comments.forEach(paint);
  new Visitor({ Literal: paint, TemplateElement: paint, Identifier: name, PrivateIdentifier: name }).visit(program);
  return { kindAt: (index) => kinds[index] ?? 'code', identifiers };
};

/**
 * Separates a document's headings, links and code from its prose. In prose, a rename changes the noun only inside a
 * longer name, such as createPlant or plant-store. A link must change together with the heading or file to which it
 * leads.
 */
const partsOfDocument = (source: string): Parts => {
  const kinds = new Array<Kind>(source.length).fill('prose');
  const fences = /^( *)```(\w*)[^\n]*\n(.*?)^ *```/gms;
  const withoutFences = source.replaceAll(fences, (fence) => ' '.repeat(fence.length));
  for (const { 0: part, index } of withoutFences.matchAll(/^#+ .*$|\[[^\]]*\]\([^)]*\)|`[^`]*`/gm))
    kinds.fill('text', index, index + part.length);
  for (const { 0: fence, 2: language, 3: code = '', index } of source.matchAll(fences)) {
    kinds.fill('text', index, index + fence.length);
    const start = index + fence.indexOf('\n') + 1;
    if (!/^(?:ts|js)$/.test(language ?? '')) continue;
    const { kindAt } = partsOfCode(`block.${language}`, code);
    for (let at = 0; at < code.length; at++) kinds[start + at] = kindAt(at);
  }
  return { kindAt: (index) => kinds[index] ?? 'prose', identifiers: new Set() };
};

const partsOf = (file: string, source: string): Parts => {
  if (isCode(file)) return partsOfCode(file, source);
  return file.endsWith('.md') ? partsOfDocument(source) : { kindAt: () => 'text', identifiers: new Set() };
};

/** A text file of the project. `file` is the path relative to the project's folder. */
export type ProjectFile = { file: string; source: string };

export const renamedPath = (file: string, noun: Noun): string => respell(file, noun, () => 'text');

export const renamedSource = ({ file, source }: ProjectFile, noun: Noun): string =>
  respell(source, noun, partsOf(file, source).kindAt);

/** Returns the names of the variables, types, parameters and properties in a file of TypeScript or JavaScript. */
export const identifiersIn = ({ file, source }: ProjectFile): Set<string> => partsOf(file, source).identifiers;
