/**
 * `npm run --prefix template breaks` applies each deliberate mistake in breaks.ts to a copy of the project, and prints
 * whether a test notices it. `npm run --prefix template breaks -- packages/runtime/auth` tries only those in files whose
 * path starts with packages/runtime/auth.
 */
import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { copyProject } from '@lambda-service/testing/copy-project';
import { type ProjectCopy, startIn } from '@lambda-service/tools/checkouts';
import { Command } from 'commander';
import { type Break, breaks } from './breaks.ts';

const command = new Command('npm run --prefix template breaks --')
  .description(
    'Breaks a copy of the project in many places, and prints which breaks npm test notices. Takes twenty minutes.',
  )
  .argument('[path]', 'tries only the files whose path starts with it, such as packages/runtime/auth')
  .showHelpAfterError()
  .parse();

const root = path.resolve(import.meta.dirname, '../..');
const chosen = breaks.filter(({ file }) => file.startsWith(command.args[0] ?? ''));

const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stop.abort());

/** @throws Error if the code that a break replaces does not occur exactly once in the break's file */
const mustApply = async (): Promise<void> => {
  const texts = await Promise.all(chosen.map(({ file }) => readFile(path.join(root, file), 'utf8').catch(() => '')));
  const stale = chosen.filter(({ code }, index) => texts[index]?.split(code).length !== 2);
  for (const { file, code } of stale) console.error(`${file} does not contain this code exactly once: ${code}`);
  if (stale.length > 0 || chosen.length === 0)
    throw new Error(`${stale.length} breaks cannot be made, because the code that they replace has changed.`);
};

/** Runs npm. After the time limit, ends npm and all processes that npm has started; `code` is then undefined. */
const run = async (copy: ProjectCopy, command: string[], milliseconds: number) => {
  const bound = AbortSignal.any([stop.signal, AbortSignal.timeout(milliseconds)]);
  const { ended, output } = startIn(copy, ['npm', ...command], bound);
  const code = await ended;
  stop.signal.throwIfAborted();
  return { code: bound.aborted ? undefined : code, output: output() };
};

/** The command that runs the test files of `npm test` whose path contains `part`. */
const testsIn = (part: string): string[] => ['test', '--', '--passWithNoTests', part];

/** The command that runs all test files whose path contains `part`, also those that `npm test` leaves out. */
const allTestsIn = (part: string): string[] => ['exec', '--', 'vitest', 'run', '--passWithNoTests', part];

/** Runs tests with npm until one fails. @returns the first failure, or undefined if all pass */
const failureIn = async (copy: ProjectCopy, tests: string[], milliseconds: number): Promise<string | undefined> => {
  const { code, output } = await run(copy, [...tests, '--bail=1'], milliseconds);
  if (code === 0) return undefined;
  if (code === undefined) return `tests that hang (ended after ${Math.round(milliseconds / 1000)} s)`;
  return /^ *FAIL +(.*)/m.exec(stripVTControlCharacters(output))?.[1] ?? 'the set-up of the tests';
};

/** Deletes functions/generated, and generates it again. @returns a description of the failure, if any */
const failureToPrepare = async (copy: ProjectCopy, milliseconds: number): Promise<string | undefined> => {
  await rm(path.join(copy.folder, 'functions/generated'), { recursive: true, force: true });
  const { code } = await run(copy, ['run', 'prepare'], milliseconds);
  return code === 0 ? undefined : 'npm run prepare, which fails';
};

/** Returns the commands that run tests which may notice a break in a file, the most likely ones first. */
const testsOf = (file: string): string[][] => {
  // `npm test` leaves out the tests of this folder.
  if (file.startsWith('template/')) return [['exec', '--', 'vitest', 'run', '--config', 'template/vitest.config.ts']];
  if (file.startsWith('docs/')) return [testsIn('test/docs.test.ts'), allTestsIn('test/pasted-commands.e2e.ts')];
  const [, home = '', rest = file] = /^(packages\/[^/]+\/|tools\/)(.*)/.exec(file) ?? [];
  const ofSameName = `${home}test/${rest.replace(/\.\w+$/, '')}.`;
  return [
    allTestsIn(ofSameName),
    ...[`${home}test/${path.dirname(rest)}/`, `${home}test/`, 'test/suite/', 'test/'].map(testsIn),
  ];
};

/**
 * Puts a break (a deliberate mistake) into the code, and runs tests until one fails: first those named after the broken
 * file, then those of its folder, then all.
 * @returns the first failure, or undefined if all tests pass
 */
const failureBy = async (copy: ProjectCopy, { file, code, broken }: Break, milliseconds: number) => {
  const target = path.join(copy.folder, file);
  const whole = await readFile(target, 'utf8');
  await writeFile(target, whole.split(code).join(broken));
  let failure = await failureToPrepare(copy, milliseconds);
  for (const tests of testsOf(file)) failure ??= await failureIn(copy, tests, milliseconds);
  await writeFile(target, whole);
  return failure;
};

const tryAll = async (parent: string): Promise<void> => {
  const copy = await copyProject(parent, stop.signal);
  const packages = 'template/node_modules';
  await symlink(path.join(root, packages), path.join(copy.folder, packages));
  const started = performance.now();
  let failure = await failureToPrepare(copy, 600_000);
  const homes = new Set(chosen.map(({ file }) => (file.startsWith('template/') ? 'template/' : '')));
  for (const tests of [...homes].map((home) => testsOf(home).at(-1) ?? []))
    failure ??= await failureIn(copy, tests, 1_800_000);
  if (failure !== undefined) throw new Error(`The tests fail without any break: ${failure}`);
  // Vitest's time-out ends a test that waits forever, but cannot end an endless loop. This time limit can.
  const bound = 3 * Math.ceil(performance.now() - started) + 120_000;
  let noticed = 0;
  for (const one of chosen) {
    const failure = await failureBy(copy, one, bound);
    if (failure !== undefined) noticed += 1;
    console.log(`${one.file}: ${one.says} ${failure === undefined ? 'NOT noticed' : `noticed by ${failure}`}`);
  }
  console.log(`${noticed} of ${chosen.length} breaks noticed`);
  if (noticed < chosen.length) process.exitCode = 1;
};

const parent = await mkdtemp(path.join(os.tmpdir(), 'plant-store-breaks-'));
try {
  await mustApply();
  await tryAll(parent);
} catch (error) {
  console.error(stop.signal.aborted ? 'Stopped.' : error instanceof Error ? error.message : error);
  process.exitCode = 1;
} finally {
  await rm(parent, { recursive: true, force: true, maxRetries: 5 });
}
