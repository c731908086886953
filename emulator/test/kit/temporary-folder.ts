import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';

/** Creates an empty folder. @returns its path, and a function that removes it */
export const temporaryFolder = async () => {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'emulator-test-'));
  return { folder, remove: () => rm(folder, { recursive: true, force: true }) };
};
