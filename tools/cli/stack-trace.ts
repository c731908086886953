/**
 * `npm run -s stack-trace < line.json` prints lines of a function's log, with stack traces that point to the sources.
 */
import { text } from 'node:stream/consumers';
import { Command, InvalidArgumentError } from 'commander';
import { hasPlaces, listMaps, mapOf, prebuildBundles, takeStacks, toSources } from '../start/bundles.ts';
import { messageOf, printable } from '../start/terminal.ts';

const hash = (given: string): string => {
  if (!/^[0-9a-f]{64}$/.test(given))
    throw new InvalidArgumentError('It must be a SHA-256 hash: 64 hexadecimal digits.');
  return given;
};

const { bundle } = new Command('npm run -s stack-trace --')
  .description(
    "Reads lines of a function's log, or a stack trace, on stdin. Prints them with the lines of the sources.",
  )
  .option('--bundle <sha256>', 'the bundle that ran, if the lines do not name it', hash)
  .showHelpAfterError('See: npm run -s stack-trace -- --help')
  .parse()
  .opts<{ bundle?: string }>();

/** Parses the JSON object in a log line; `before` is the text before the object, such as a time. */
const parse = (input: string): { before: string; value: unknown } | undefined => {
  const start = input.indexOf('{');
  try {
    return start < 0 ? undefined : { before: input.slice(0, start), value: JSON.parse(input.slice(start)) };
  } catch {
    return undefined;
  }
};

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

/** Returns a log record, and below it its stack traces; undefined if the text is not a log record. */
const unfold = (input: string): string | undefined => {
  const found = parse(input);
  if (found === undefined) return undefined;
  const { rest, stacks, sha256 } = takeStacks(found.value);
  return [found.before + rest, ...stacks.map((stack) => inSources(stack, sha256))].join('\n');
};

if (process.stdin.isTTY) console.error('Paste lines of a log, or a stack trace. Then press Ctrl-D.');
const input = (await text(process.stdin)).trimEnd();
try {
  if (!hasPlaces(input)) throw new Error('The input has no line of a stack trace such as /var/task/index.js:25:26897.');
  await prebuildBundles();
  // First try to read the whole input as one record, because CloudWatch's console shows a record as several lines.
  console.log(printable(unfold(input) ?? input.replaceAll(/^.*$/gm, (line) => unfold(line) ?? inSources(line))));
} catch (error) {
  console.error(messageOf(error));
  process.exitCode = 1;
}
