#!/usr/bin/env node
/** The command `http-api-emulator`: checks the version of Node.js before it loads code that an old one cannot parse. */
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);

if (major > 24 || (major === 24 && minor >= 5)) {
  import('./main.ts').then(({ main }) => main());
} else {
  console.error(`http-api-emulator needs Node.js 24.5 or newer, but this is ${process.version} (${process.execPath}).`);
  process.exitCode = 1;
}
