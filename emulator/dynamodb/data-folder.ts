import { mkdir, readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { Level } from 'level';

/** A folder for data cannot be used. The message, for the user, ends with the advice to choose another one. */
export class FolderError extends Error {
  override readonly name = 'FolderError';
}

/**
 * Locks a data folder for this process, and creates the folder, for this user only, if it is missing. The lock is an
 * empty LevelDB database, which the operating system unlocks however the process ends.
 * @returns a function that releases the lock
 * @throws FolderError
 */
export const lockFolder = async (folder: string): Promise<() => Promise<void>> => {
  const lock = path.join(folder, 'lock');
  const current = await readFile(path.join(lock, 'CURRENT'), 'utf8').catch(() => undefined);
  if (!/^MANIFEST-\d+\n$/.test(current ?? '')) await mustBeEmpty(lock);
  // This function creates the lock before there is any data. Data without a lock was made by another program.
  if (current === undefined) await mustBeEmpty(path.join(folder, 'dynamodb'));
  try {
    return await openDatabase(lock);
  } catch (error) {
    throw new FolderError(
      `The data folder ${folder} cannot be used: ${reason(error)}. Another process may be using it. Stop that one, or ` +
        'choose another folder.',
      { cause: error },
    );
  }
};

/**
 * LevelDB renames and deletes files by name alone, so it must never open a folder that contains the user's own files.
 * @throws FolderError if the folder contains files
 */
export const mustBeEmpty = async (folder: string): Promise<void> => {
  const [name] = await namesIn(folder);
  if (name === undefined) return;
  throw new FolderError(
    `${folder} has files that were not made here (${name}). Move that folder away, or choose another data folder.`,
  );
};

/** The file names in a folder. An unreadable folder counts as empty: opening it later fails and says why. */
const namesIn = (folder: string): Promise<string[]> => readdir(folder).catch(() => []);

/** Opens the LevelDB database in `folder`, creating it if it is missing. @returns a function that closes it */
export const openDatabase = async (folder: string): Promise<() => Promise<void>> => {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const database = new Level(folder);
  await database.open();
  return () => database.close();
};

/** The message of the innermost cause. The level package's own message is only "Database is not open". */
export const reason = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? reason(error.cause) : error.message || error.name;
};

/** Whether a database cannot be opened because another process, or another part of this one, has it open. */
export const isLocked = (error: unknown): boolean => hasCode(error, 'LEVEL_LOCKED');

/** Whether a database cannot be opened because its files are damaged. */
export const isCorrupt = (error: unknown): boolean => hasCode(error, 'LEVEL_CORRUPTION');

/** Whether an error, or one of its causes, has the code. */
const hasCode = (error: unknown, code: string): boolean =>
  error instanceof Error && (('code' in error && error.code === code) || hasCode(error.cause, code));
