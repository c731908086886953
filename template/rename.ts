/**
 * `npm run rename -- order` makes this project a service for orders: it changes names in code, files, stack, contract
 * and configuration. It leaves alone the documents' prose, pictures, the emulator, the contract compiler and the
 * license. Last, it removes this folder, which a renamed project does not need.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { Command } from 'commander';
import { messageOf } from '../tools/start/terminal.ts';
import { removeTemplate } from './remove.ts';
import { refuseCollisions } from './rename/collisions.ts';
import { type ProjectFile, renamedPath, renamedSource } from './rename/files.ts';
import { readNoun } from './rename/noun.ts';

const command = new Command('npm run rename --')
  .description(
    'Makes this a service for something else, such as orders: names in code, files, stack, contract and configuration.',
  )
  .argument('<singular>', 'in lower case, such as order or customer-order')
  .argument('[plural]', 'if it is irregular, such as people')
  .showHelpAfterError()
  .parse();

const untouched = /^(?:packages\/(?:contract|emulator)|docs\/images|template)\/|^LICENSE$/;

const git = (...args: string[]): string => execFileSync('git', args, { encoding: 'utf8', maxBuffer: 2 ** 26 });

/** Makes sure that git can undo every change of the rename. @throws Error with a sentence for the user if git cannot */
const refuseUncommitted = (): void => {
  // Check the whole repository for changes, even if the project is only a folder in it, because `git reset --hard`
  // resets all of it.
  const changes = git('status', '--porcelain');
  if (changes !== '')
    throw new Error('git status lists changes. Commit or stash them, so that git can undo the renaming.');
};

const readFiles = (): ProjectFile[] =>
  git('ls-files', '-z')
    .split('\0')
    .filter((file) => file !== '' && !untouched.test(file))
    .map((file) => ({ file, source: readFileSync(file, 'utf8') }))
    // Skip binary files, which contain NUL characters.
    .filter(({ source }) => !source.includes('\0'));

try {
  const noun = readNoun(...command.args);
  refuseUncommitted();
  const files = readFiles();
  refuseCollisions(files, noun);

  const changed = files
    .map((before) => ({ before, file: renamedPath(before.file, noun), source: renamedSource(before, noun) }))
    .filter(({ before, file, source }) => file !== before.file || source !== before.source);
  for (const { file, source } of changed) {
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, source);
  }
  const moved = changed.filter(({ before, file }) => before.file !== file).map(({ before }) => before.file);
  // Stage the changes, so that `git reset --hard` also removes new files. Delete old files with `git rm`, which also
  // removes folders that become empty.
  git('rm', '--quiet', '--force', '--', ...moved);
  execFileSync('node_modules/.bin/biome', ['check', '--write', '--linter-enabled=false', '--log-level=error', '.'], {
    stdio: 'inherit',
  });
  git('add', '--', ...changed.map(({ file }) => file));
  removeTemplate();
  console.log(`Renamed plant to ${noun.singular} in ${changed.length} files, and staged it; git reset --hard undoes it.
Next: rm -rf .plant-store (local data), npm ci && npm test, and commit. Then edit the contract (schemas/openapi.yaml), run npm run prepare, and handle what npm run typecheck names.
Prose in documents still speaks of plants (git grep -iw plants -- '*.md'), and the README's pictures show them.`);
} catch (error) {
  console.error(messageOf(error));
  process.exitCode = 1;
}
