/**
 * `npm run -s stack-trace < line.json` prints lines of a function's log, with stack traces that point to the sources.
 */
import { text } from 'node:stream/consumers';
import { Command } from 'commander';
import { hasPlaces, listMaps, mapOf, prebuildBundles, takeStacks, toSources } from '../start/bundles.ts';
import { matching, printable, runCommand } from '../start/terminal.ts';

const hash = matching(/^[0-9a-f]{64}$/, 'It must be a SHA-256 hash: 64 hexadecimal digits.', String);

const { bundle } = new Command('npm run -s stack-trace --')
  .description("Prints lines of a function's log, or a stack trace, from stdin, with the lines of the sources.")
  .option('--bundle <sha256>', 'the bundle that ran, if the lines do not name it', hash)
  .showHelpAfterError('See: npm run -s stack-trace -- --help')
  .parse()
  .opts<{ bundle?: string }>();

const inSources = (stack: string, sha256 = bundle): string => {
  if (!hasPlaces(stack)) return stack;
  if (sha256 === undefined) {
    throw new Error(
      `The input does not say which bundle ran. Name it with --bundle: the function's variable BUNDLE_SHA256 has it. The files in this folder make ${listMaps()}.`,
    );
  }
  const map = mapOf(sha256);
  if (map !== undefined) return toSources(stack, () => map);
  throw new Error(
    `The bundle ${sha256} ran, but the files in this folder make ${listMaps()}.\nCheck out the commit that was deployed when the line was logged (on GitHub, see the runs of the workflow Deploy), run npm ci, and try again.`,
  );
};

/**
 * Returns a log record, and below it its stack traces; undefined if the text is not a log record. A record is a JSON
 * object, perhaps after other text, such as a time.
 */
const unfold = (input: string): string | undefined => {
  const [, before = '', json = ''] = /^([^{]*)(.*)$/s.exec(input) ?? [];
  try {
    const { rest, stacks, sha256 } = takeStacks(JSON.parse(json));
    return [before + rest, ...stacks.map((stack) => inSources(stack, sha256))].join('\n');
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
};

if (process.stdin.isTTY) console.error('Paste lines of a log, or a stack trace. Then press Ctrl-D.');
const input = (await text(process.stdin)).trimEnd();
await runCommand(async () => {
  if (!hasPlaces(input)) throw new Error('The input has no line of a stack trace such as /var/task/index.js:25:26897.');
  await prebuildBundles();
  // First try to read the whole input as one record, because CloudWatch's console shows a record as several lines.
  console.log(printable(unfold(input) ?? input.replaceAll(/^.*$/gm, (line) => unfold(line) ?? inSources(line))));
});
