/**
 * The settings of `npm start` that are environment variables. Its command-line options are in tools/start/options.ts.
 */
import path from 'node:path';

/** The folder for the local service's plants and session: DATA_DIR, or else .plant-store in the current folder. */
export const dataFolder = (): string => path.resolve(process.env['DATA_DIR'] || '.plant-store');

/** Reads the variable PORT, in which 0 means any free port. */
export const readPort = (): number => {
  const text = process.env['PORT'] || '3000';
  const port = Number(text);
  if (!/^\d+$/.test(text) || port > 65_535) {
    throw new Error(`PORT is ${JSON.stringify(text)}, but it must be a number from 0 (any free port) to 65535.`);
  }
  return port;
};
