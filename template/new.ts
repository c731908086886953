/**
 * `npm run new -- ../orders order` makes a service for orders in a folder of its own, with the files that a team owns,
 * and no others. The platform's packages lie in its vendor/ until they are published. It copies the service in this
 * project, and changes the words plant and plants, alone or in names, and the article before them.
 */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import path from 'node:path';
import { messageOf } from '@lambda-service/tools/terminal';
import { Command } from 'commander';
import { refuseCollisions } from './new/collisions.ts';
import { renamedPath, renamedSource } from './new/files.ts';
import { lockFor, manifestsFor } from './new/manifest.ts';
import { type Noun, readNoun } from './new/noun.ts';
import { forService } from './new/platform.ts';
import { readFiles } from './new/sources.ts';
import { packPackages } from './pack.ts';
import { root, run, write } from './project.ts';

/** The words of the examples. */
const oldWords = 'plant|swiss cheese|climber|moss';

/** @throws Error with a sentence for the user if the folder may hold something of theirs */
const refuseFolder = (folder: string): void => {
  // A clone of a new repository has only .git.
  if (existsSync(folder) && (!statSync(folder).isDirectory() || readdirSync(folder).some((name) => name !== '.git')))
    throw new Error(`${folder} exists, and is not an empty folder. Name a new one.`);
  if (!path.relative(root, folder).startsWith('..'))
    throw new Error(`${folder} is inside this repository. Name a folder beside it, such as ../orders.`);
};

const makeService = (folder: string, noun: Noun): void => {
  const files = readFiles();
  refuseCollisions(files, noun);
  const names = new Set(files.map(({ file }) => file));
  for (const { file, source } of files) {
    const renamed = renamedSource({ file, source: forService(file, source, names) }, noun);
    write(path.join(folder, renamedPath(file, noun)), renamed, file === '.ci/run' ? 0o755 : 0o644);
  }
  mkdirSync(path.join(folder, 'vendor'));
  const packed = packPackages(path.join(folder, 'vendor'));
  const manifests = Object.fromEntries(
    Object.entries(manifestsFor(root, packed)).map(([file, source]) => [file, renamedSource({ file, source }, noun)]),
  );
  const lock = lockFor(root, manifests, packed, path.join(folder, 'vendor'));
  for (const [file, text] of Object.entries({ ...manifests, 'package-lock.json': lock }))
    write(path.join(folder, file), text);
  const quiet = ['--ignore-scripts', '--offline', '--no-audit', '--no-fund', '--loglevel=error'];
  run(folder, 'npm', 'install', '--package-lock-only', ...quiet);
  run(folder, 'git', 'init', '--quiet', '--initial-branch=main');
  const biome = path.join(root, 'node_modules/.bin/biome');
  run(folder, biome, 'check', '--write', '--linter-enabled=false', '--log-level=error', '.');
};

/** Makes the service beside its folder, so that a failure leaves nothing in that folder. */
const makeSafely = (folder: string, noun: Noun): void => {
  mkdirSync(path.dirname(folder), { recursive: true });
  const made = mkdtempSync(`${folder}-new-`);
  try {
    makeService(made, noun);
    mkdirSync(folder, { recursive: true });
    for (const name of readdirSync(made))
      if (!existsSync(path.join(folder, name))) renameSync(path.join(made, name), path.join(folder, name));
    run(folder, 'git', 'add', '--all');
  } finally {
    rmSync(made, { recursive: true });
  }
};

const command = new Command('npm run new --')
  .description('Makes a service in a new folder, with the code, contract, tests and documents that its team owns.')
  .argument('<folder>', 'the new folder, such as ../orders')
  .argument('<singular>', 'what it stores, in lower case, such as order or customer-order')
  .argument('[plural]', 'if it is irregular, such as people')
  .showHelpAfterError()
  .parse();

try {
  const [given = '', ...words] = command.args;
  const folder = path.resolve(process.env['INIT_CWD'] ?? '', given);
  const noun = readNoun(...words);
  refuseFolder(folder);
  makeSafely(folder, noun);
  console.log(`${folder} is a service for ${noun.plural}, with all files staged. Go on:
1. cd ${given} && git commit --message 'feat: start' && npm ci && npm start
2. Give the contract your data: docs/change-the-data.md. Then git grep -ciE '${oldWords}' lists what still speaks of plants.
3. Make README.md, .github/ and the version (npm version major) yours, and add a LICENSE if others may use the code.`);
} catch (error) {
  console.error(messageOf(error));
  process.exitCode = 1;
}
