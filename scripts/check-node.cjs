/**
 * Exits with 1 unless the Node.js that runs it is the one in package-lock.json, or, on a platform for which the lock
 * file has none, any of the same major version. Plain JavaScript, so that an old Node.js can say so too.
 */
'use strict';

const { spawnSync } = require('node:child_process');
const { existsSync, readFileSync, realpathSync } = require('node:fs');
const path = require('node:path');
const { optionalDependencies } = require('../package.json');

const root = path.resolve(__dirname, '..');
const pinned = readFileSync(path.join(root, '.node-version'), 'utf8').trim();
const running = process.versions.node;
const name = `node-${process.platform}-${process.arch}`;
const binary = path.join(root, 'node_modules', name, 'bin', 'node');

/** A binary that lies about its version is never here: npm unpacks nothing that does not match its hash. */
const isPinned = () =>
  running === pinned && existsSync(binary) && realpathSync(process.execPath) === realpathSync(binary);

/** True if the package is installed and its binary needs another C library, as on Alpine Linux. */
const cannotStart = () => existsSync(binary) && spawnSync(binary, ['--version']).status !== 0;

const refuse = (sentence) => {
  console.error(sentence);
  process.exit(1);
};

if (!isPinned()) {
  const found = `but this is ${running} (${process.execPath})`;
  if (name in optionalDependencies && !cannotStart()) {
    refuse(
      `Plant Store needs Node.js ${pinned} from node_modules/${name}, ${found}: npm leaves that package out, without ` +
        'an error, if its download fails, if its hash is not the one in package-lock.json (it may be forged), or with ' +
        '--omit=optional; run "npm ci --include=optional".',
    );
  }
  const [major] = pinned.split('.');
  if (running.split('.')[0] !== major) {
    refuse(`Plant Store needs Node.js ${major}, ${found}: install it, and run "npm ci" again.`);
  }
}
