/**
 * Links node_modules/.bin/node to this platform's Node.js. npm 10 makes this link, too, but deletes it when it removes
 * another platform's package with the same `bin`. A running shell finds the new link after `hash -r`.
 */
'use strict';

const { existsSync, mkdirSync, rmSync, symlinkSync } = require('node:fs');
const path = require('node:path');

const folder = path.resolve(__dirname, '../../../node_modules/.bin');
const binary = `../node-${process.platform}-${process.arch}/bin/node`;
const link = path.join(folder, 'node');

if (existsSync(path.join(folder, binary))) {
  mkdirSync(folder, { recursive: true });
  rmSync(link, { force: true });
  symlinkSync(binary, link);
}
