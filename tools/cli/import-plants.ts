/** `plant import`: adds the plants in a file, and shows its progress. */
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import path from 'node:path';
import { addAbortSignal, type Readable } from 'node:stream';
import { printable } from '../start/terminal.ts';
import { connect, explain, type Target } from './connection.ts';
import { FailedLines } from './failed-lines.ts';
import { type Create, ImportEnded, importLines } from './import-lines.ts';
import { Progress } from './progress.ts';

export class Stopped extends Error {
  override readonly name = 'Stopped';
}

type Options = Target & { from?: number };

/**
 * What an import reads, and the file for the lines that fail. `size` is the length of the input in bytes, or 0 if it is
 * not known. If the input is a file of failed lines, that file is also the one for the lines that fail again.
 */
type Input = { name: string; size: number; read: () => Readable; failures: FailedLines; isFailedLines: boolean };

/** Resolves a path from INIT_CWD, the folder where the user called npm: npm runs scripts in the project's folder. */
const resolveForCaller = (file: string): string => path.resolve(process.env['INIT_CWD'] ?? '', file);

const suffix = '.failed.ndjson';

/** Opens the file named `given`, or standard input if `given` is `-`. */
const openInput = async (given: string, { from }: Options): Promise<Input> => {
  if (given === '-') {
    const failures = await openFailures(`stdin${suffix}`);
    return { name: 'stdin', size: 0, read: () => process.stdin, failures, isFailedLines: false };
  }
  const file = resolveForCaller(given);
  const found = await stat(file).catch(() => undefined);
  if (!found?.isFile())
    throw new Error(`There is no file ${file}: name a file that has one plant in JSON per line, or - for stdin.`);
  const opened = { name: path.basename(file), size: found.size };
  // Read only what the file has now: while a file of failed lines is imported, lines that fail again are added to it.
  const read = () => createReadStream(file, { end: Math.max(found.size - 1, 0) });
  const own = await FailedLines.in(file);
  if (!file.endsWith(suffix) || own.isForeign)
    return { ...opened, read, failures: await openFailures(`${file}${suffix}`), isFailedLines: false };
  if (from !== undefined)
    throw new Error(`--from is not for ${given}: lines that are stored leave this file, so import all of it.`);
  return { ...opened, read, failures: own, isFailedLines: true };
};

const openFailures = async (given: string): Promise<FailedLines> => {
  const failures = await FailedLines.in(resolveForCaller(given));
  if (failures.isForeign)
    throw new Error(`Lines that fail would go to ${failures.file}, which no import has made: move that file away.`);
  return failures;
};

/** Imports the file named `given`, or standard input if `given` is `-`. */
export const importPlants = async (given: string, options: Options): Promise<void> => {
  const input = await openInput(given, options);
  const { url, createPlant } = await connect(options);
  const stop = new AbortController();
  // One Ctrl-C sends the signal twice, from the terminal and through npm. The second signal changes nothing here.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stop.abort());

  const progress = new Progress({ new: 0, 'already there': 0, failed: 0 }, input.size);
  // The last line whose outcome was counted, in the file's order. Lines after it may have been sent already.
  let last = { number: 0, end: 0 };
  const create: Create = (plant) => createPlant(plant, { signal: stop.signal });
  try {
    for await (const line of importLines(addAbortSignal(stop.signal, input.read()), create, options.from)) {
      stop.signal.throwIfAborted();
      if (line.outcome === 'failed') await input.failures.add({ source: input.name, ...line });
      progress.add(line.outcome, line.end);
      last = line;
    }
  } catch (error) {
    progress.stop();
    const soFar = `${progress} so far. ${(await removeDone(input, last.end)) ?? howToGoOn(input, last.number)}`;
    if (stop.signal.aborted) throw new Stopped(`Stopped: ${soFar}`);
    const reason =
      error instanceof ImportEnded ? explain(error.result, url) : error instanceof Error ? error.message : error;
    throw new Error(`${reason}\n${soFar}`);
  }
  progress.stop();
  const problem = await removeDone(input, input.failures.earlier);
  const { failed } = progress.counts;
  console.log(printable(`${progress}${failed > 0 ? `: see ${input.failures.file}` : ''}`));
  if (problem !== undefined) console.error(printable(problem));
  process.exitCode = failed > 0 || problem !== undefined ? 1 : 0;
};

/**
 * If the input is a file of failed lines, removes from that file the lines that this import has finished.
 * @returns a sentence for the user if the removal fails
 */
const removeDone = async ({ isFailedLines, failures }: Input, end: number): Promise<string | undefined> => {
  if (!isFailedLines) return undefined;
  try {
    await failures.remove(end);
    return undefined;
  } catch (error) {
    const reason = error instanceof Error ? error.message : error;
    return `The lines that are done are still in ${failures.file} (${reason}). Make sure that you can write to its folder, and import the file again: no plant is stored twice.`;
  }
};

const howToGoOn = ({ isFailedLines }: Input, lastLine: number): string => {
  if (isFailedLines) return 'Run it again: the file has the lines that are left.';
  if (lastLine === 0) return 'Run it again: plants that are already stored are not stored twice.';
  return `To go on, run it again with the same input and --from ${lastLine + 1}.`;
};
