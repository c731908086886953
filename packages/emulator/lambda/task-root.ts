/**
 * Makes the folder of a function's code the working directory, and read-only, as on Lambda:
 * https://docs.aws.amazon.com/lambda/latest/dg/configuration-ephemeral-storage.html
 * A thread cannot change its working directory, so this replaces `process.cwd` and the functions of `node:fs`.
 */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { constants } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

type Fn = (...values: unknown[]) => unknown;

export const enterTaskRoot = (root: string): void => {
  process.cwd = () => root;
  for (const module of [fs, fs.promises]) {
    for (const [name, original] of Object.entries(module)) {
      if (typeof original !== 'function' || withoutPath.test(name)) continue;
      const replaced = inFolder(root, name, original as Fn, module === fs.promises);
      // Some functions have properties, such as `realpath.native`.
      Object.setPrototypeOf(replaced, original);
      Object.assign(module, { [name]: replaced });
    }
  }
  syncBuiltinESMExports();
};

/** Classes, and functions that take no path, or one that is not relative to the working directory. */
const withoutPath = /^([A-Z_]|close|f[cdstu]|glob|(read|write)v?(Sync)?$)/;

const writing =
  /^(appendFile|l?chmod|l?chown|l?utimes|mkdir|mkdtemp|rename|rm|rmdir|symlink|truncate|unlink|writeFile)(Sync)?$/;
/** The functions whose second argument is a path, too: the one that they write. */
const withTwoPaths = /^(copyFile|cp|link|rename|symlink)(Sync)?$/;

/** Makes paths relative to the folder `root`, and refuses to write there. */
const inFolder = (root: string, name: string, original: Fn, isAsync: boolean): Fn => {
  // A symbolic link's target is relative to the link.
  const paths = [...(name.startsWith('symlink') ? [] : [0]), ...(withTwoPaths.test(name) ? [1] : [])];
  const resolve = (value: unknown) => {
    const text = value instanceof Uint8Array ? Buffer.from(value).toString() : value;
    const file = text instanceof URL && text.protocol === 'file:' ? fileURLToPath(text) : text;
    return typeof file === 'string' && !path.isAbsolute(file) ? path.join(root, file) : file;
  };
  const isInside = (value: unknown) => typeof value === 'string' && `${path.normalize(value)}/`.startsWith(`${root}/`);
  return (...values) => {
    for (const index of paths) values[index] = resolve(values[index]);
    const writesAll = writing.test(name) || (/^open(Sync)?$/.test(name) && isForWriting(values[1]));
    const refused = paths.slice(writesAll ? 0 : 1).find((index) => isInside(values[index]));
    if (refused === undefined) return original(...values);
    const error = readOnly(name, String(values[refused]));
    const callback = values.at(-1);
    if (isAsync) return Promise.reject(error);
    if (typeof callback !== 'function') throw error;
    return process.nextTick(callback, error);
  };
};

/** Whether the flags of `open` allow writing: 1 is O_WRONLY, and 2 is O_RDWR. */
const isForWriting = (flags: unknown): boolean => /[wa+]/.test(String(flags)) || (Number(flags) & 3) > 0;

const readOnly = (syscall: string, file: string): Error => {
  const error = new Error(`EROFS: read-only file system, ${syscall} '${file}'`);
  return Object.assign(error, { code: 'EROFS', errno: -constants.errno.EROFS, syscall, path: file });
};
