/**
 * `node template/check-service.ts <folder> <singular>` checks a new service: it is small, names nothing of this repository,
 * and deploys to production what this one does. The templates must be equal but for the noun, hashes, and the release.
 */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { runApp } from '@lambda-service/tools/app';
import { withNames } from '@lambda-service/tools/starter';
import { messageOf } from '@lambda-service/tools/terminal';
import { type Noun, readNoun } from './new/noun.ts';
import { starterFor } from './new/sources.ts';

const [, , folder = '', ...words] = process.argv;

/** What a team may have to own at most, without the lock file and the packages. */
const limits = { files: 95, lines: 6_000 };

const checkFiles = (): void => {
  const listed = execFileSync('git', ['ls-files', '-z'], { cwd: folder, encoding: 'utf8' }).split('\0');
  const files = listed.filter((file) => file !== '' && !/^vendor\/|package-lock\.json$/.test(file));
  const texts = files.map((file) => readFileSync(path.join(folder, file), 'utf8'));
  const lines = texts.join('').split('\n').length - 1;
  console.log(`${folder} has ${files.length} files with ${lines} lines.`);
  assert(files.length <= limits.files && lines <= limits.lines, `It may have ${limits.files} and ${limits.lines}.`);
  const foreign = files.filter((_, index) => /(?<![\w./])(?:packages|template)\/\w/.test(texts[index] ?? ''));
  assert.deepEqual(foreign, [], 'These files name folders of this repository');
  const named = files.flatMap((file, index) =>
    [
      ...(texts[index] ?? '').matchAll(
        /node_modules\/(?:@lambda-service|openapi-contract|http-api-emulator)[\w./-]*\w/g,
      ),
    ]
      .filter(([name]) => !existsSync(path.join(folder, name)))
      .map(([name]) => `${file} names ${name}.`),
  );
  assert.deepEqual(named, [], 'The packages lack these files');
  const { name } = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8'));
  for (const [file, text] of Object.entries(starterFor().files))
    assert.equal(withNames(text, name), readFileSync(path.join(folder, file), 'utf8'), `upgrade compares ${file}`);
};

/** Synthesizes the stack of a project. @returns its template as JSON */
const synthesize = async (project: string): Promise<string> => {
  const outdir = mkdtempSync(path.join(os.tmpdir(), 'same-template-'));
  try {
    const context = { stage: 'prod', alarmEmail: 'alarms@example.com' };
    const [stack] = (await runApp(project, { outdir, context }, new AbortController().signal)).values();
    return JSON.stringify(stack?.template, null, 1);
  } finally {
    rmSync(outdir, { recursive: true });
  }
};

/** Replaces the noun in every style, with the article before it. */
const withoutNoun = (json: string, { singular, plural }: Noun): string => {
  const [one, many] = [singular, plural].map((each) => each.split('-').join('[-_ ]?'));
  return json.replaceAll(new RegExp(`(?:${many}|${one})`, 'gi'), 'noun').replaceAll(/\ban noun\b/g, 'a noun');
};

/** Replaces hashes of code, of paths in logical ids, and of scopes, and the release's version. */
const withoutHashes = (json: string): string =>
  json
    .replaceAll(/(?<=[A-Za-z])(?:[0-9A-F]{8})+[0-9a-f]*|[0-9a-f]{64}|[0-9a-f]{32}/g, '#')
    .replaceAll(/\b\d+\.\d+\.\d+\b/g, 'version');

/** Parses a template, and sorts what the CDK sorts by names. */
const sorted = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(sorted).sort((a, b) => JSON.stringify(a).localeCompare(JSON.stringify(b)));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => a.localeCompare(b))
      .map(([key, each]) => [key, sorted(each)]),
  );
};

/** What is compared of a project's template. */
const comparable = async (project: string, noun: Noun): Promise<unknown> =>
  sorted(JSON.parse(withoutHashes(withoutNoun(await synthesize(project), noun))));

try {
  checkFiles();
  const own = comparable('.', { singular: 'plant', plural: 'plants' });
  assert.deepEqual(await comparable(folder, readNoun(...words)), await own);
  console.log('Its template is that of this service, but for names and hashes.');
} catch (error) {
  console.error(messageOf(error));
  process.exitCode = 1;
}
