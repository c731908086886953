/**
 * Links node_modules/.bin/node to the Node.js package of this platform. npm 10 links it too, but then removes the link
 * with the package of another platform, whose `bin` has the same name. A shell finds the new link after `hash -r`.
 */
'use strict';

const { existsSync, mkdirSync, rmSync, symlinkSync } = require('node:fs');
const path = require('node:path');

const folder = path.resolve(__dirname, '../node_modules/.bin');
const binary = `../node-${process.platform}-${process.arch}/bin/node`;
const link = path.join(folder, 'node');

if (existsSync(path.join(folder, binary))) {
  mkdirSync(folder, { recursive: true });
  rmSync(link, { force: true });
  symlinkSync(binary, link);
}
