/** Imported with `--import` by a program: its store cannot write, as if the disk were full. */
import { Level } from 'level';

const diskFull = Object.assign(new Error('IO error: No space left on device'), { code: 'LEVEL_IO_ERROR' });
Object.assign(Level.prototype, { _put: () => Promise.reject(diskFull) });
