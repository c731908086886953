/** Finds the Node.js that a service's project pins. This file is plain JavaScript so that an old Node.js can run it. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import path from 'node:path';

const name = `node-${process.platform}-${process.arch}`;

/** @param {string} binary */
const versionOf = (binary) =>
  existsSync(process.execPath) && existsSync(binary) && realpathSync(process.execPath) === realpathSync(binary)
    ? process.version
    : spawnSync(binary, ['--version'], { encoding: 'utf8' }).stdout?.trim();

/**
 * Returns the path of the Node.js that package-lock.json pins. If that file pins none that works on this platform, such
 * as Alpine Linux with its other C library, the running one will do if it has the same major number.
 * @param {string} root the project's folder
 * @throws Error with a sentence for the user
 */
export const findNode = (root) => {
  const pinned = readFileSync(path.join(root, '.node-version'), 'utf8').trim();
  const { optionalDependencies = {} } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'));
  const binary = path.join(root, 'node_modules', name, 'bin/node');
  const version = versionOf(binary);
  // As process.execPath: a copy of the project has a link to the packages of the original.
  if (version === `v${pinned}`) return realpathSync(binary);
  const running = `this is ${process.versions.node} (${process.execPath})`;
  const cannotStart = existsSync(binary) && !version;
  if (name in optionalDependencies && !cannotStart) {
    throw new Error(
      `This service needs Node.js ${pinned} from node_modules/${name}, but ${version ? `that is ${version}` : running}: npm leaves that package out, without ` +
        'an error, if its download fails, if its hash is not the one in package-lock.json (it may be forged), or with ' +
        '--omit=optional; run "npm ci --include=optional".',
    );
  }
  const [major] = pinned.split('.');
  if (process.versions.node.split('.')[0] === major) return process.execPath;
  throw new Error(
    `This service needs Node.js ${major}, but ${running}. Install Node.js ${major}, and run "npm ci" again.`,
  );
};

/**
 * Links node_modules/.bin/node to this platform's Node.js. npm 10 makes this link, too, but deletes it when it removes
 * another platform's package with the same `bin`. A running shell finds the new link after `hash -r`.
 * @param {string} root the project's folder
 */
export const linkNode = (root) => {
  const folder = path.join(root, 'node_modules/.bin');
  const binary = `../${name}/bin/node`;
  if (!existsSync(path.join(folder, binary))) return;
  mkdirSync(folder, { recursive: true });
  rmSync(path.join(folder, 'node'), { force: true });
  symlinkSync(binary, path.join(folder, 'node'));
};
