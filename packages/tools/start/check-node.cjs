/**
 * Exits with 1 unless it runs on the Node.js that package-lock.json pins. If that file pins none that works on this
 * platform, the same major number is enough. This file is plain JavaScript so that an old Node.js can run it.
 */
'use strict';

const { spawnSync } = require('node:child_process');
const { existsSync, readFileSync, realpathSync } = require('node:fs');
const path = require('node:path');
const { optionalDependencies } = require('../../../package.json');

const root = path.resolve(__dirname, '../../..');
const pinned = readFileSync(path.join(root, '.node-version'), 'utf8').trim();
const running = process.versions.node;
const name = `node-${process.platform}-${process.arch}`;
const binary = path.join(root, 'node_modules', name, 'bin', 'node');

/** Whether this file runs on the Node.js in node_modules, which npm has checked against package-lock.json. */
const isPinned = () =>
  running === pinned && existsSync(binary) && realpathSync(process.execPath) === realpathSync(binary);

/**
 * True if the Node.js in node_modules cannot run here, for example on Alpine Linux, which has a different C library.
 */
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
    refuse(`Plant Store needs Node.js ${major}, ${found}. Install Node.js ${major}, and run "npm ci" again.`);
  }
}
