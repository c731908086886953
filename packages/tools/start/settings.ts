/** The settings of `npm start`: its options, and environment variables. */
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { InvalidArgumentError } from 'commander';

const isPort = (text: string): boolean => /^\d+$/.test(text) && Number(text) <= 65_535;

export const inspectorPort = (text: string): number => {
  if (!isPort(text)) throw new InvalidArgumentError('It must be a number from 0 (any free port) to 65535.');
  return Number(text);
};

/** The options that npm has taken for itself, because there was no `--` before them: npm's environment has them. */
export const takenByNpm = (): string[] => {
  const { npm_config_watch: watch, npm_config_loglevel: level, npm_config_debug: debug } = process.env;
  return [
    ...(watch ? ['--watch'] : []),
    // npm's own --verbose is short for --loglevel verbose.
    ...(level === 'verbose' ? ['--verbose'] : []),
    // The last one: with --debug 9230, npm leaves the port to us as the first argument.
    ...(debug ? [debug === 'true' ? '--debug' : `--debug=${debug}`] : []),
  ];
};

/** The contract, in the current folder. */
export const contractFile = 'schemas/openapi.yaml';

/** Reads the name of the npm package of the service's client, if the project has one. */
export const clientName = (): string | undefined =>
  existsSync('client/package.json') ? JSON.parse(readFileSync('client/package.json', 'utf8')).name : undefined;

/** The folder for the local service's items and session: DATA_DIR, or else .local-service in the current folder. */
export const dataFolder = (): string => path.resolve(process.env['DATA_DIR'] || '.local-service');

/** Reads the variable PORT, in which 0 means any free port. */
export const readPort = (): number => {
  const text = process.env['PORT'] || '3000';
  if (!isPort(text))
    throw new Error(`PORT is ${JSON.stringify(text)}, but it must be a number from 0 (any free port) to 65535.`);
  return Number(text);
};
