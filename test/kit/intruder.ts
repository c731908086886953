/** Preloaded by app.e2e.ts. Acts as another user, who adds a file to an asset's folder while its mode is 777. */
import fs from 'node:fs';
import path from 'node:path';

const name = new URL(import.meta.url).search.slice(1);
const { chmodSync } = fs;

fs.chmodSync = (folder, mode) => {
  chmodSync(folder, mode);
  if (mode === 0o777) fs.writeFileSync(path.join(String(folder), name), 'module.exports = {};');
};
