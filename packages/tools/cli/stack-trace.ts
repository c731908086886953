/** Prints lines of a function's log, with stack traces that point to the sources. */
import { text } from 'node:stream/consumers';
import { takeStacks } from 'http-api-emulator/request-log';
import { hasPlaces, inSources, prebuildBundles } from '../start/bundles.ts';
import { type Define, matching, printable } from '../terminal.ts';

const hash = matching(/^[0-9a-f]{64}$/, 'It must be a SHA-256 hash: 64 hexadecimal digits.', String);

/** Translates a log, or a stack trace: `bundle` ran unless the lines name another. */
export const translateLog = (log: string, bundle?: string): string =>
  // First try to read the whole log as one record, because CloudWatch's console shows a record as several lines.
  printable(unfold(log, bundle) ?? log.replaceAll(/^.*$/gm, (line) => unfold(line, bundle) ?? inSources(line, bundle)));

/**
 * Returns a log record, and below it its stack traces; undefined if the text is not a log record. A record is a JSON
 * object, perhaps after other text, such as a time.
 */
const unfold = (input: string, bundle?: string): string | undefined => {
  const [, before = '', json = ''] = /^([^{]*)(.*)$/s.exec(input) ?? [];
  try {
    const { rest, stacks, sha256 } = takeStacks(JSON.parse(json));
    return [before + rest, ...stacks.map((stack) => inSources(stack, sha256 ?? bundle))].join('\n');
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
};

export const define: Define = (command, { process, console }) =>
  command
    .option('--bundle <sha256>', 'the bundle that ran, if the lines do not name it', hash)
    .action(async ({ bundle }: { bundle?: string }) => {
      if (process.stdin.isTTY) console.error('Paste lines of a log, or a stack trace. Then press Ctrl-D.');
      const input = (await text(process.stdin)).trimEnd();
      if (!hasPlaces(input))
        throw new Error('The input has no line of a stack trace such as /var/task/index.js:25:26897.');
      await prebuildBundles();
      console.log(translateLog(input, bundle));
    });
