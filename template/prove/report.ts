/** The report of a run, in Markdown, without anything that an issue must not have. */
import type { Step } from './steps.ts';

export type Result = { verdict: string; observed: string; minutes: number };

/** What a run has done: `results` are those of the first steps. `started` is a Unix time in seconds. */
export type State = { account: string; region: string; commit: string; started: number; results: Result[] };

const secrets: [what: RegExp, by: string][] = [
  [/(?<!\d)\d{12}(?!\d)/g, '<account>'],
  [/eyJ[\w-]+\.[\w-]+\.[\w-]*/g, '<token>'],
  [/\b(?:AKIA|ASIA)[A-Z\d]{16}\b/g, '<key>'],
  [/(?<=\b(?:user|role)\/)(?!PlantStore-|cdk-)[^\s"';|]+/g, '<name>'],
  [/[\w.+-]+@[\w-]+\.[\w.-]+\w/g, '<email>'],
  [/(?<=\/(?:Users|home)\/)[^/\s]+/g, '<name>'],
  [/\b[a-z\d]{10}(?=\.execute-api\.)|(?<=\/apis\/|ApiId=|execute-api:[\w-]+:<account>:)[a-z\d]{10}\b/g, '<api>'],
  [/d-[a-z\d]{10}(?=\.awsapps)/g, '<directory>'],
  [/(?<=\b[a-z]{2}(?:-[a-z]+)+-\d)_[A-Za-z\d]+/g, '_<pool>'],
  [/(?<!\d)(?:\d{1,3}\.){3}\d{1,3}(?!\d)/g, '<address>'],
  [/(?<![\w:])(?=[\da-f:]*(?:::|(?:[\da-f]+:){4}))[\da-f]{1,4}:[\da-f:]*[\da-f](?![\w:])/gi, '<address>'],
  // Client ids have 26 lower-case letters and digits, and secrets are longer. Hashes have hexadecimal digits only, and
  // CDK ends a logical id with one.
  [
    /(?<![\w/+-])(?![A-Z]\w*[a-z][0-9A-F]{8}(?:[\da-f]{8})?(?![\w/+=]))(?![a-f\d]+(?![\w/+=]))(?=[A-Za-z/+]*\d)(?=[\d/+]*[A-Za-z])[A-Za-z\d/+=]{26,}/g,
    '<secret>',
  ],
];

/** Replaces account ids, tokens, keys, names of people, and the ids of APIs, pools and clients. */
export const redact = (text: string): string => secrets.reduce((rest, [what, by]) => rest.replaceAll(what, by), text);

/** What a run does not try of the list in template/prove/README.md. */
export const notTried: [about: string, what: string, because: string][] = [
  ['Gateway', 'the default address of an API with a domain', 'it needs a domain and a certificate'],
  ['Store', '`denied` in the log', 'the smoke test stops a version without the grant'],
  ['Tokens', 'tokens of other issuers', 'it needs accounts with them'],
  ['Going back', '`--resources-to-skip`', 'a roll-back must fail twice first'],
  ['Smoke test and roles', 'when all of Lambda and DynamoDB knows a role', 'it needs requests to all their servers'],
  ['GitHub', 'letting GitHub deploy, and the check `diff`', 'it needs a repository on GitHub'],
  ['CloudFormation', 'giving a stack its boundary later', 'the account has one or not'],
  ['Alarms', 'whether mail arrives', 'somebody must confirm it first'],
  ['Alarms', 'metric math without data', 'the alarms are OK whatever it makes of that'],
  ['Alarms', 'the window of a day', 'it takes a day'],
  ['Guards', "the table's maximum", 'it needs over 1,000 writes a second'],
  ['Guards', 'the budget, and an address without an API', 'they take a month, and a domain'],
  ['Guards', 'a replaced table, and copies in another region', 'they take a day'],
  ['Limits', 'the recipe', 'it needs a domain'],
];

/** Writes a pattern for people: `…` is any text, and `n` a number. */
const plain = (expected: string): string =>
  expected
    .replaceAll(/(\[1-9\])?\\d[*+]?/g, 'n')
    .replaceAll(/\.\*|\[\^[^\]]*\]\*|\\S\+/g, '…')
    .replaceAll(/^\? |[\\^$]/g, '');

const row = (cells: unknown[]): string =>
  `| ${cells.map((each) => String(each).replaceAll('|', '\\|').replaceAll(/\s+/g, ' ')).join(' | ')} |`;

/** @param left what the clean-up has left, or undefined before it @param listed what AWS's list of tags still has */
export const writeReport = (state: State, steps: readonly Step[], left?: string, listed?: string): string => {
  const counts = Map.groupBy(state.results, ({ verdict }) => verdict);
  const rows = steps.map(({ about, name, expected }, index) => {
    const { observed = 'the run ended before', verdict = 'not tried', minutes = 0 } = state.results[index] ?? {};
    return row([about, name, plain(expected), observed, verdict, minutes]);
  });
  const day = new Date(1_000 * state.started).toISOString().slice(0, 10);
  const lines = [
    `# The proof at ${state.commit} in ${state.region}, ${day}\n`,
    `${Array.from(counts, ([verdict, all]) => `${all.length} ${verdict}`).join(', ')} of ${steps.length} steps.\n`,
    row(['about', 'step', 'expected', 'observed', 'verdict', 'minutes']),
    row(Array(6).fill('---')),
    ...rows,
    '\nNot tried by this command:\n',
    ...notTried.map(([about, what, because]) => `- ${about}: ${what}, because ${because}`),
    `\nLeft in the account: ${left === undefined ? 'everything so far' : left.replaceAll('\n', ', ') || 'nothing'}.\n`,
    ...(listed ? [`AWS still lists, perhaps for hours: ${listed.replaceAll('\n', ', ')}.\n`] : []),
  ];
  return redact(lines.join('\n'));
};
