/** The settings of `npm start`: its options, and environment variables. */
import path from 'node:path';
import { Command, InvalidArgumentError } from 'commander';

const isPort = (text: string): boolean => /^\d+$/.test(text) && Number(text) <= 65_535;

const inspectorPort = (text: string): number => {
  if (!isPort(text)) throw new InvalidArgumentError('It must be a number from 0 (any free port) to 65535.');
  return Number(text);
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
    .parse()
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
