/**
 * `npm run --prefix template prose` finds unclear wording in documents, the contract, comments, test names and
 * messages.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { Command } from 'commander';
import { type Program, parseSync, Visitor } from 'oxc-parser';
import writeGood from 'write-good';
import { isScalar, parseDocument, visit } from 'yaml';

new Command('npm run --prefix template prose --')
  .description('Finds unclear wording in documents, the contract, comments, test names and messages.')
  .showHelpAfterError()
  .parse();

/** Words and phrases that readers of this project stumbled over, each with what to write instead. */
const phrases: [phrase: RegExp, instead: string][] = [
  [/\bmend(?:s|ed|ing)?\b/i, 'fix'],
  [/\bsuch as that\b/i, 'for example, that'],
  [/\bthat there (?:is|are|was|were)\b/i, 'leave it out, or name the thing'],
  [/\bfor as long as\b/i, 'while'],
  [/\bas far as\b/i, 'if, or what'],
  [/\bno such\b.*\bas\b/i, 'say what is missing'],
  [/\bwhere (?:it|there|that|they) (?:is|are|was|were|has|have)\b/i, 'if'],
  [/\bof (?:its|their|his) own\b/i, 'leave it out, or say "separate"'],
  [/\bhonest\b/i, 'valid'],
  [/\bdeeds?\b/i, 'what happens'],
  [/\bmembers?\b/i, 'field'],
  [/(?<!\bthere )\bis no (?!longer\b)\w+/i, 'is not a'],
];

/** The most words that a sentence may have. Readers have to read longer sentences twice. */
const maxWords = 45;

type Finding = { file: string; line: number; text: string };

const tracked = execFileSync('git', ['ls-files', '-co', '--exclude-standard'], { encoding: 'utf8' })
  .trim()
  .split('\n')
  .filter((file) => existsSync(file));

/**
 * Overwrites every match of the patterns `notProse` with spaces, but keeps the line breaks, so that line numbers stay
 * the same.
 */
const blank = (text: string, ...notProse: RegExp[]): string =>
  notProse.reduce((rest, pattern) => rest.replaceAll(pattern, (match) => match.replaceAll(/[^\n]/g, ' ')), text);

const check = (file: string, text: string, firstLine = 1): Finding[] => {
  const at = (index: number): number => firstLine + text.slice(0, index).split('\n').length - 1;
  const wordy = writeGood(text, {
    passive: false,
    weasel: false,
    adverb: false,
    so: false,
    whitelist: [
      'it is',
      'It is',
      'it was',
      'It was',
      'all of',
      'a number of',
      'however',
      'therefore',
      'Therefore',
      'minimum',
      'maximum',
      'Maximum',
      'multiple',
      'overall',
      'in addition',
      'outside of',
      'portion',
      'whether or not',
      'validate',
    ],
  });
  return [
    ...wordy.map(({ index, reason }) => ({ file, line: at(index), text: reason })),
    ...phrases.flatMap(([phrase, instead]) =>
      [...text.matchAll(new RegExp(phrase, `${phrase.flags}g`))].map(({ index, 0: found }) => ({
        file,
        line: at(index),
        text: `"${found}": ${instead}`,
      })),
    ),
    ...[...text.matchAll(/(?:(?![.!?:|](?:\s|$)|\n\s*\n|\n- |\n\s*@).)+/gs)]
      .filter(([sentence]) => sentence.trim().split(/\s+/).length > maxWords)
      .map(({ index }) => ({ file, line: at(index), text: `a sentence of more than ${maxWords} words` })),
  ];
};

/** Returns the descriptions and summaries in the OpenAPI contract, each with the number of its first line. */
const descriptionsOf = (yaml: string): { text: string; line: number }[] => {
  const found: { text: string; line: number }[] = [];
  visit(parseDocument(yaml), {
    Pair: (_, { key, value }) => {
      if (!isScalar(key) || !['description', 'summary'].includes(String(key.value)) || !isScalar(value)) return;
      const line = yaml.slice(0, value.range?.[0]).split('\n').length;
      found.push({ text: String(value.value), line });
    },
  });
  return found;
};

/**
 * Returns the string literals of at least four words. Adds a space in front of each, because a bug makes write-good
 * ignore its whitelist for a phrase at index 0.
 */
const stringsOf = (program: Program): { value: string; start: number }[] => {
  const found: { value: string; start: number }[] = [];
  const add = (value: unknown, start: number): void => {
    if (typeof value === 'string' && /[a-z]+ \S+ \S+ [a-z]+/i.test(value)) found.push({ value: ` ${value}`, start });
  };
  new Visitor({
    Literal: ({ value, start }) => add(value, start),
    TemplateElement: ({ value, start }) => add(value.cooked, start),
  }).visit(program);
  return found;
};

const documents = tracked.filter((file) => file.endsWith('.md'));
const sources = tracked.filter((file) => /\.(ts|[cm]?js)$/.test(file));

const contract = 'schemas/openapi.yaml';

const findings = [
  ...descriptionsOf(readFileSync(contract, 'utf8')).flatMap(({ text, line }) => check(contract, text, line)),
  ...documents.flatMap((file) =>
    check(file, blank(readFileSync(file, 'utf8'), /^```.*?^```/gms, /`[^`]*`/g, /\]\([^)]*\)/g, /^\|.*$/gm)),
  ),
  ...sources.flatMap((file) => {
    const source = readFileSync(file, 'utf8');
    const { comments, program } = parseSync(file, source);
    return [...comments, ...stringsOf(program)].flatMap(({ value, start }) =>
      check(file, blank(value, /`[^`]*`/g, /^\s*\*/gm, /%\w/g), source.slice(0, start).split('\n').length),
    );
  }),
];

for (const { file, line, text } of findings) console.log(`${file}:${line} ${text}`);
console.log(`${documents.length} documents, ${sources.length} files of code, ${findings.length} findings`);
process.exitCode = findings.length > 0 ? 1 : 0;
