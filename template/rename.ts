/**
 * `npm run rename -- order` makes this project a service for orders: it changes the words plant and plants, alone or in
 * names, and the article before them, in code, files, stack, contract, configuration and documents. It leaves alone
 * "Swiss cheese plant" (an example), pictures, the platform's packages and the license. It also removes what
 * a renamed project does not need: this folder, and the versions, changelog and contracts of our releases.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { messageOf } from '@lambda-service/tools/terminal';
import { Command } from 'commander';
import { removeTemplate } from './remove.ts';
import { refuseCollisions } from './rename/collisions.ts';
import { type ProjectFile, renamedPath, renamedSource } from './rename/files.ts';
import { readNoun } from './rename/noun.ts';

const command = new Command('npm run rename --')
  .description(
    'Makes this a service for something else, such as orders: names and texts, at version 0.1.0 and without template/.',
  )
  .argument('<singular>', 'in lower case, such as order or customer-order')
  .argument('[plural]', 'if it is irregular, such as people')
  .showHelpAfterError()
  .parse();

const untouched = /^(?:packages|docs\/images|template)\/|^LICENSE$/;

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

/** The old noun, and the words of the examples. */
const oldWords = 'plant|swiss cheese|climber|moss';
const search = `git grep -ciE '${oldWords}'`;

/** Searches the renamed project for texts about plants. @returns a line for each file, with the number of its lines */
const findOldWords = (): string => {
  const counts = spawnSync('git', ['grep', '-ciEI', oldWords], { encoding: 'utf8' }).stdout.trim().split('\n');
  const lines = counts.map((line) => line.split(':')).sort(([, a], [, b]) => Number(b) - Number(a));
  return lines.map(([file, count = '']) => `${count.padStart(4)} ${file}`).join('\n');
};

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
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  git('add', '--', ...changed.map(({ file }) => file));
  removeTemplate();
  console.log(`Renamed plant to ${noun.singular} in ${changed.length} files, and removed template/ and our releases. All is staged: git reset --hard undoes it.

Lines that still speak of plants, by file:
${findOldWords()}

What remains to be done:
1. Remove local data of the old name (rm -rf .local-service), run npm ci && npm test, and commit to main: the workflow
   diff fails for a pull request that renames, because the stack gets another name.
2. Give the contract your data: docs/change-the-data.md says how, and which texts to change.
3. Make README.md, LICENSE and .github/ yours. The pictures in docs/images/ and the figures in docs/benchmarks.md are of plants.
4. Search again: ${search}
5. Release 1.0.0: npm version major. Until then, the version is 0.1.0, and CHANGELOG.md and schemas/released/ are empty.`);
} catch (error) {
  console.error(messageOf(error));
  process.exitCode = 1;
}
