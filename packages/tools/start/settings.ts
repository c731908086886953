/** The settings of `npm start`: its options, and environment variables. */
import path from 'node:path';
import { Command, InvalidArgumentError } from 'commander';

const isPort = (text: string): boolean => /^\d+$/.test(text) && Number(text) <= 65_535;

const inspectorPort = (text: string): number => {
  if (!isPort(text)) throw new InvalidArgumentError('It must be a number from 0 (any free port) to 65535.');
  return Number(text);
};

/** The options that npm has taken for itself, because there was no `--` before them: npm's environment has them. */
const takenByNpm = (): string[] => {
  const { npm_config_watch: watch, npm_config_loglevel: level, npm_config_debug: debug } = process.env;
  return [
    ...(watch ? ['--watch'] : []),
    // npm's own --verbose is short for --loglevel verbose.
    ...(level === 'verbose' ? ['--verbose'] : []),
    // The last one: with --debug 9230, npm leaves the port to us as the first argument.
    ...(debug ? [debug === 'true' ? '--debug' : `--debug=${debug}`] : []),
  ];
};

/**
 * Reads the command line. With `--help`, or if the command line is invalid, prints help or an error message, and exits.
 */
export const readOptions = () => {
  const { debug, ...others } = new Command('npm start --')
    .description('Serves the stack on this machine.')
    .option('--debug [port]', 'accept a debugger, on port 9229 unless another is given', inspectorPort)
    .option('--watch', 'serve changes of the source files without a restart')
    .option('--verbose', 'print every request, not a summary, if there are many')
    .addHelpText(
      'after',
      `
Settings are environment variables, as in PORT=3001 npm start:
  PORT                       the port on 127.0.0.1; 0 means any free port (default: 3000)
  DATA_DIR                   the folder for the plants (default: .plant-store)
  AWS_ENDPOINT_URL_DYNAMODB  the store to use instead of the built-in one`,
    )
    .showHelpAfterError('See: npm start -- --help')
    .parse(process.argv.toSpliced(2, 0, ...takenByNpm()))
    .opts<{ debug?: number | true; watch?: true; verbose?: true }>();
  return { ...others, debug: debug === true ? 9229 : debug };
};

/** The folder for the local service's plants and session: DATA_DIR, or else .plant-store in the current folder. */
export const dataFolder = (): string => path.resolve(process.env['DATA_DIR'] || '.plant-store');

/** Reads the variable PORT, in which 0 means any free port. */
export const readPort = (): number => {
  const text = process.env['PORT'] || '3000';
  if (!isPort(text))
    throw new Error(`PORT is ${JSON.stringify(text)}, but it must be a number from 0 (any free port) to 65535.`);
  return Number(text);
};
