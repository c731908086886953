import { mkdir, readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { Level } from 'level';

/** Thrown if a data folder cannot be used. The message is for the user, and advises choosing another folder. */
export class FolderError extends Error {
  override readonly name = 'FolderError';
}

/**
 * Locks a data folder for this process. Creates a missing folder so that only this user can read it. The lock is an
 * empty LevelDB database, which the operating system unlocks when the process ends, even after a crash.
 * @returns a function that releases the lock
 * @throws FolderError
 */
export const lockFolder = async (folder: string): Promise<() => Promise<void>> => {
  const lock = path.join(folder, 'lock');
  const current = await readFile(path.join(lock, 'CURRENT'), 'utf8').catch(() => undefined);
  if (!/^MANIFEST-\d+\n$/.test(current ?? '')) await mustBeEmpty(lock);
  // Data without a lock must come from another program, because `lockFolder` creates the lock before any data.
  if (current === undefined) await mustBeEmpty(path.join(folder, 'dynamodb'));
  try {
    return await openDatabase(lock);
  } catch (error) {
    const failure = isLocked(error)
      ? 'is in use. Stop the process that uses it'
      : `cannot be written: ${reason(error)}. Check its permissions and the space on its disk`;
    throw new FolderError(`The data folder ${folder} ${failure}, or choose another folder.`, { cause: error });
  }
};

/**
 * Checks that a folder has no files before LevelDB makes a database in it. LevelDB would rename and delete files
 * without checking their content, and these could be the user's own.
 * @throws FolderError if the folder contains files
 */
export const mustBeEmpty = async (folder: string): Promise<void> => {
  const [name] = await namesIn(folder);
  if (name === undefined) return;
  throw new FolderError(
    `${folder} has files that the emulator did not create (${name}). Move that folder away, or choose another data folder.`,
  );
};

/**
 * Returns the file names in a folder, or none if the folder is missing or cannot be read. Neither is an error here:
 * opening the database creates a missing folder, and fails with the reason if the folder cannot be read.
 */
const namesIn = (folder: string): Promise<string[]> => readdir(folder).catch(() => []);

/** Opens the LevelDB database in `folder`, creating it if it is missing. @returns a function that closes it */
export const openDatabase = async (folder: string): Promise<() => Promise<void>> => {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const database = new Level(folder);
  await database.open();
  return () => database.close();
};

/** Returns the innermost cause's message. The outer message of the package `level` says only "Database is not open". */
export const reason = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? reason(error.cause) : error.message || error.name;
};

/** Whether opening a database failed because it is already open, in another process or in this one. */
export const isLocked = (error: unknown): boolean => hasCode(error, 'LEVEL_LOCKED');

/** Whether a database cannot be opened because its files are damaged. */
export const isCorrupt = (error: unknown): boolean => hasCode(error, 'LEVEL_CORRUPTION');

/** Whether the database refused what it should store, such as null. */
export const isInvalid = (error: unknown): boolean => hasCode(error, 'LEVEL_INVALID_VALUE');

/** Whether an error, or one of its causes, has the code `code`. */
const hasCode = (error: unknown, code: string): boolean =>
  error instanceof Error && (('code' in error && error.code === code) || hasCode(error.cause, code));
