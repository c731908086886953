/**
 * `npm run guide` follows the documents that change a service in one new service: applies the code blocks, tests the
 * service, runs the shell blocks against `npm start`, and counts the files and lines that a team changes.
 */
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { makeFolders, type ProjectCopy, startIn } from '@lambda-service/tools/checkouts';
import { linkPackages } from '@lambda-service/tools/link-packages';
import { messageOf } from '@lambda-service/tools/terminal';
import { Command } from 'commander';
import { reasonToSkip } from './contract.ts';
import { applyBlock, isWithinTarget, priceOf, readBlocks, sentenceOf } from './guide/blocks.ts';
import { root, run } from './project.ts';

/** A document whose chapters are changes of their own, each of at most this many files. */
const everyday = { file: 'docs/everyday-changes.md', mostFiles: 4 };

const command = new Command('npm run guide --')
  .description('Follows documents, one after the other, in a new service. Takes some minutes.')
  .argument('[files...]', 'documents of the service', [
    'docs/add-an-operation.md',
    'docs/add-a-queue.md',
    everyday.file,
  ])
  .showHelpAfterError()
  .parse();

const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stop.abort());

const checks: [string, ...string[]][] = [
  ['npm', 'run', 'lint'],
  ['npm', 'run', 'typecheck', '--', '--singleThreaded'],
  ['npx', 'cdk', 'synth', '--quiet', '--no-validation', '-c', 'stage=prod', '-c', 'alarmEmail=none'],
  ['npm', 'test', '--', '--maxWorkers=1'],
];

const guides: string[] = command.processedArgs[0];

const apply = async ({ folder }: ProjectCopy, markdown: string): Promise<void> => {
  for (const block of readBlocks(markdown)) {
    const file = path.join(folder, block.file);
    const text = await readFile(file, 'utf8').catch(() => undefined);
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, applyBlock(block, text));
  }
};

/** Runs a step. Prints its name, its duration and, if it fails, its output. @returns whether the step succeeded */
const step = async (name: string, run: () => Promise<{ isGood: boolean; output: string }>): Promise<boolean> => {
  const started = performance.now();
  const { isGood, output } = await run();
  stop.signal.throwIfAborted();
  const seconds = Math.round((performance.now() - started) / 1_000);
  console.log(`${isGood ? 'ok' : 'FAILED'} ${name} (${seconds} s)${isGood ? '' : `\n${output}`}`);
  return isGood;
};

/** What the copy compiles is kept in its own cache. */
const cached = { NODE_DISABLE_COMPILE_CACHE: undefined };

const check = (copy: ProjectCopy, command: [string, ...string[]]): Promise<boolean> =>
  step(command.join(' '), async () => {
    const { ended, output } = startIn(copy, command, stop.signal, cached);
    return { isGood: (await ended) === 0, output: output() };
  });

/**
 * Runs the guide's shell blocks while `npm start` runs. The comment at the end of a command must be what the command
 * prints.
 */
const request = async (copy: ProjectCopy, documents: string[]): Promise<{ isGood: boolean; output: string }> => {
  const scripts = [...documents.join('\n').matchAll(/^```sh\n(.*?)^```$/gms)].map(([, script = '']) => script);
  const expected = scripts.flatMap((script) => [...script.matchAll(/ # (.*)$/gm)].map(([, line = '']) => line));
  const end = new AbortController();
  const signal = AbortSignal.any([stop.signal, end.signal]);
  const environment = { ...cached, DATA_DIR: path.join(copy.temporary, 'data') };
  const service = startIn(copy, ['npm', 'start'], signal, { ...environment, PORT: '0' });
  try {
    let isRunning = true;
    void service.ended.then(() => (isRunning = false));
    while (isRunning && !service.output().includes('Ctrl-C')) await pause(100);
    const url = /at (http:\S+)/.exec(service.output())?.[1] ?? '';
    const script = scripts.join('').replaceAll('http://127.0.0.1:3000', url);
    const { ended, output } = startIn(copy, ['sh', '-c', script], signal, environment);
    await ended;
    const printed = output().trim().split('\n');
    const isGood = printed.map((line) => line.trim()).join('\n') === expected.join('\n');
    return { isGood, output: `printed:\n${output()}\nnot:\n${expected.join('\n')}\n${service.output()}` };
  } finally {
    end.abort();
    await service.ended;
  }
};

/** Makes a service for orders with the packages that are installed here, so that it needs no network. */
const makeService = async (parent: string): Promise<ProjectCopy> => {
  const copy = await makeFolders(parent);
  run(root, process.execPath, 'template/new.ts', copy.folder, 'order');
  linkPackages(root, copy.folder);
  return copy;
};

/** Says what the changes of a document cost. @returns whether they cost no more than they may */
const reportCosts = (file: string, markdown: string): boolean => {
  if (file !== everyday.file) {
    const price = priceOf(readBlocks(markdown));
    console.log(`${file}: ${sentenceOf(price)}`);
    return isWithinTarget(price);
  }
  const [, ...chapters] = markdown.split(/^## /m);
  const counts = chapters.map((chapter) => new Set(readBlocks(chapter).map((block) => block.file)).size);
  for (const [index, count] of counts.entries())
    console.log(`${file}, ${chapters[index]?.split('\n')[0]}: files ${count}`);
  return counts.every((count) => count <= everyday.mostFiles);
};

const follow = async (parent: string): Promise<boolean> => {
  const copy = await makeService(parent);
  const documents = await Promise.all(guides.map((file) => readFile(path.join(copy.folder, file), 'utf8')));
  for (const markdown of documents) await apply(copy, markdown);
  let isGood = await check(copy, ['npm', 'run', 'prepare']);
  for (const command of isGood ? checks : []) isGood = (await check(copy, command)) && isGood;
  if (documents.some((markdown) => /^```sh$/m.test(markdown)))
    isGood = (await step('the requests', () => request(copy, documents))) && isGood;
  const areCheap = documents.map((markdown, index) => reportCosts(guides[index] ?? '', markdown));
  return isGood && areCheap.every(Boolean);
};

const reason = reasonToSkip();
if (reason) {
  console.log(`Skipped the guides: ${reason}`);
  process.exit();
}
const parent = await mkdtemp(path.join(os.tmpdir(), 'plant-store-guide-'));
try {
  if (!(await follow(parent))) process.exitCode = 1;
} catch (error) {
  console.error(stop.signal.aborted ? 'Stopped.' : messageOf(error));
  process.exitCode = 1;
} finally {
  await rm(parent, { recursive: true, force: true, maxRetries: 5 });
}
