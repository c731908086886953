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

/** Matches a block of code in a document, or a call in its text, such as `add(plant)`. */
const codeInDocument = /^```(?:ts|js|diff)\b.*?\n```$|`\w+\([^`\n]*\)`/gms;
/** Matches a string or a comment. */
const textInCode = /'[^'\n]*'|"[^"\n]*"|\/\/.*|\/\*.*?\*\//g;

const partsOfDocument = (source: string): Parts => {
  const kinds = new Array<Kind>(source.length).fill('text');
  for (const { 0: code, index } of source.matchAll(codeInDocument)) {
    // The first line of a block has the name of its file, and is text.
    kinds.fill('code', index + Math.max(code.indexOf('\n'), 0), index + code.length);
    for (const { 0: text, index: start } of code.matchAll(textInCode))
      kinds.fill('text', index + start, index + start + text.length);
  }
  return { kindAt: (index) => kinds[index] ?? 'text', identifiers: new Set() };
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
