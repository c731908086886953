/** Preloaded by app.e2e.ts: another user, who puts something into the folder of an asset while CDK lets everyone. */
import fs from 'node:fs';
import path from 'node:path';

const name = new URL(import.meta.url).search.slice(1);
const { chmodSync } = fs;

fs.chmodSync = (folder, mode) => {
  chmodSync(folder, mode);
  if (mode === 0o777) fs.writeFileSync(path.join(String(folder), name), 'module.exports = {};');
};
