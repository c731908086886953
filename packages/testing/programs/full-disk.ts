/**
 * Imported with `--import` by a program: once the file that DISK_FULL names exists, its store cannot write any more.
 */
import { existsSync } from 'node:fs';
import { Level } from 'level';

const { _put: put } = Level.prototype as unknown as { _put: (...args: unknown[]) => Promise<void> };
const diskFull = Object.assign(new Error('IO error: No space left on device'), { code: 'LEVEL_IO_ERROR' });
Object.assign(Level.prototype, {
  _put(this: Level, ...args: unknown[]) {
    return existsSync(process.env['DISK_FULL'] ?? '') ? Promise.reject(diskFull) : put.apply(this, args);
  },
});
