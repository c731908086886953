/** `plant import`: adds the plants in a file, and shows its progress. */
import { createReadStream, fstatSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import path from 'node:path';
import { addAbortSignal, type Readable } from 'node:stream';
import { printable } from '../start/printable.ts';
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
 * not known.
 */
type Input = {
  kind: 'file' | 'failed lines' | 'stdin';
  name: string;
  size: number;
  read: () => Readable;
  failures: FailedLines;
};

/** Resolves a path from INIT_CWD, the folder where the user called npm: npm runs scripts in the project's folder. */
const resolveForCaller = (file: string): string => path.resolve(process.env['INIT_CWD'] ?? '', file);

const suffix = '.failed.ndjson';

/** Opens the file named `given`, or standard input if `given` is `-`. */
const openInput = async (given: string, { from }: Options): Promise<Input> => {
  if (given === '-') {
    const failures = await openFailures(`stdin${suffix}`);
    return { kind: 'stdin', name: 'stdin', size: fstatSync(0).size, read: () => process.stdin, failures };
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
    return { kind: 'file', ...opened, read, failures: await openFailures(`${file}${suffix}`) };
  if (from !== undefined)
    throw new Error(`--from is not for ${given}: lines that are stored leave this file, so import all of it.`);
  return { kind: 'failed lines', ...opened, read, failures: own };
};

const openFailures = async (given: string): Promise<FailedLines> => {
  const failures = await FailedLines.in(resolveForCaller(given));
  if (failures.isForeign) throw failures.foreignError();
  await failures.skipPresent();
  return failures;
};

/** Imports the file named `given`, or standard input if `given` is `-`. */
export const importPlants = async (given: string, options: Options): Promise<void> => {
  const input = await openInput(given, options);
  const { url, createPlant } = await connect(options);
  const stop = new AbortController();
  // One Ctrl-C sends the signal twice, from the terminal and through npm. The second signal changes nothing here.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stop.abort());

  const progress = new Progress(input.size);
  const create: Create = (plant) => createPlant(plant, { signal: stop.signal });
  try {
    for await (const line of importLines(addAbortSignal(stop.signal, input.read()), create, options.from)) {
      stop.signal.throwIfAborted();
      if (line.outcome === 'failed') await input.failures.add({ source: input.name, ...line });
      progress.add(line);
    }
  } catch (error) {
    progress.stop();
    const soFar = `${progress} so far. ${(await removeDone(input, progress.end)) ?? howToGoOn(given, options, input, progress)}`;
    if (stop.signal.aborted) throw new Stopped(`Stopped: ${soFar}`);
    const reason =
      error instanceof ImportEnded ? explain(error.result, url) : error instanceof Error ? error.message : error;
    throw new Error(`${reason}\n${soFar}`);
  }
  progress.stop();
  const problem = await removeDone(input, input.failures.earlier);
  const { failed } = progress.counts;
  console.log(printable(`${progress}${failed > 0 ? `: see ${input.failures.file}` : ''}`));
  if (progress.firstMisfit !== undefined) console.error(formatAdvice(progress.firstMisfit));
  if (problem !== undefined) console.error(printable(problem));
  process.exitCode = failed > 0 || problem !== undefined ? 1 : 0;
};

/**
 * If the input is a file of failed lines, removes from that file the lines that this import has finished.
 * @returns a sentence for the user if the removal fails
 */
const removeDone = async ({ kind, failures }: Input, end: number): Promise<string | undefined> => {
  if (kind !== 'failed lines') return undefined;
  try {
    await failures.remove(end);
    return undefined;
  } catch (error) {
    const reason = error instanceof Error ? error.message : error;
    return `The lines that are done are still in ${failures.file} (${reason}). Make sure that you can write to its folder, and import the file again: no plant is stored twice.`;
  }
};

const howToGoOn = (given: string, { url, token }: Options, { kind }: Input, { lastLine }: Progress): string => {
  if (kind === 'failed lines') return 'Run it again: the file has the lines that are left.';
  if (lastLine === 0) return 'Run it again: plants that are already stored are not stored twice.';
  const rest = [
    ...(url === undefined ? [] : ['--url', url]),
    // Print `...` instead of the token, which is secret and may have expired when the user runs the command.
    ...(token === undefined ? [] : ['--token', '...']),
  ];
  const command = ['npm run -s plant -- import', quoted(given), '--from', lastLine + 1, ...rest].join(' ');
  return `To go on${kind === 'stdin' ? ', with the same input' : ''}: ${command}`;
};

const quoted = (text: string): string => (/^[\w./:@%+=-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

/** Tells the user which format an import needs. @param line the input's first line, which is not a plant */
const formatAdvice = (line: string): string => {
  const looks = /^\s*\[/.test(line) ? ', but a JSON array' : /^[^{]*[,;\t]/.test(line) ? ', but perhaps CSV' : '';
  return `The input has no plants${looks}. Each line must be one plant in JSON, such as:\n{"id":7,"name":"Moss"}`;
};
