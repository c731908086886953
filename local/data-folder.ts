import { mkdir, readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { Level } from 'level';

/** Where a local service keeps plants and session: DATA_DIR, else .plant-store in the current folder. */
export const dataFolder = (): string => path.resolve(process.env['DATA_DIR'] || '.plant-store');

/**
 * Takes the folder for this process alone, and makes it, for this user alone, if it is missing. An empty database is the
 * lock: the system lets go of it however the process ends.
 * @returns how to give it back
 * @throws Error in one sentence
 */
export const takeDataFolder = async (folder: string): Promise<() => Promise<void>> => {
  const lock = path.join(folder, 'lock');
  const current = await readFile(path.join(lock, 'CURRENT'), 'utf8').catch(() => undefined);
  if (!/^MANIFEST-\d+\n$/.test(current ?? '')) await mustBeEmpty(lock);
  // The lock is made first: plants without one are not this service's.
  if (current === undefined) await mustBeEmpty(path.join(folder, 'dynamodb'));
  try {
    return await openDatabase(lock);
  } catch (error) {
    throw new Error(
      `The data folder ${folder} cannot be used: ${reason(error)}. Another local service may be using it: ` +
        'stop that one, or choose another folder: DATA_DIR=... npm start',
      { cause: error },
    );
  }
};

/**
 * LevelDB renames and deletes files by their names alone, so it must not be let into a folder of the user's.
 * @throws Error in one sentence if the folder has files
 */
export const mustBeEmpty = async (folder: string): Promise<void> => {
  const [name] = await namesIn(folder);
  if (name === undefined) return;
  throw new Error(
    `${folder} has files that are not the local service's (${name}). Move that folder away, or choose another data folder: ` +
      'DATA_DIR=... npm start',
  );
};

/** None of a folder that cannot be listed: opening it fails too, and says why. */
const namesIn = (folder: string): Promise<string[]> => readdir(folder).catch(() => []);

/** Makes the database if it is missing. @returns how to close it */
export const openDatabase = async (folder: string): Promise<() => Promise<void>> => {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const database = new Level(folder);
  await database.open();
  return () => database.close();
};

/** The innermost cause says most: level's own message is "Database is not open". */
export const reason = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? reason(error.cause) : error.message || error.name;
};
