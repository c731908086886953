/**
 * `npm run -s stack-trace < line.json` prints lines of a function's log, with stack traces that point to the sources.
 */
import { text } from 'node:stream/consumers';
import { hasPlaces, inSources, prebuildBundles, takeStacks } from '../start/bundles.ts';
import { matching, printable, runCommand } from '../start/terminal.ts';
import { NpmCommand } from './npm-command.ts';

const hash = matching(/^[0-9a-f]{64}$/, 'It must be a SHA-256 hash: 64 hexadecimal digits.', String);

const { bundle } = new NpmCommand('npm run -s stack-trace --')
  .description("Prints lines of a function's log, or a stack trace, from stdin, with the lines of the sources.")
  .option('--bundle <sha256>', 'the bundle that ran, if the lines do not name it', hash)
  .showHelpAfterError('See: npm run -s stack-trace -- --help')
  .parse()
  .opts<{ bundle?: string }>();

/**
 * Returns a log record, and below it its stack traces; undefined if the text is not a log record. A record is a JSON
 * object, perhaps after other text, such as a time.
 */
const unfold = (input: string): string | undefined => {
  const [, before = '', json = ''] = /^([^{]*)(.*)$/s.exec(input) ?? [];
  try {
    const { rest, stacks, sha256 } = takeStacks(JSON.parse(json));
    return [before + rest, ...stacks.map((stack) => inSources(stack, sha256 ?? bundle))].join('\n');
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
  console.log(
    printable(unfold(input) ?? input.replaceAll(/^.*$/gm, (line) => unfold(line) ?? inSources(line, bundle))),
  );
});
