/** The program `lambda-service`, which bin.js runs in the project's folder, on the Node.js that the project pins. */
import { Command, Option } from 'commander';
import { inspectorPort, takenByNpm } from './start/settings.ts';

export const main = async (): Promise<void> => {
  const program = new Command('npm');
  program
    .command('start')
    .usage('-- [options]')
    .description('Serves the stack on this machine.')
    .addOption(
      new Option('--debug [port]', 'accept a debugger, on port 9229 unless another is given')
        .argParser(inspectorPort)
        .preset(9229),
    )
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
    .action(async (options: { debug?: number; watch?: true; verbose?: true }) => {
      const { start } = await import('./start/main.ts');
      await start(options);
    });
  await program.parseAsync(process.argv.toSpliced(3, 0, ...takenByNpm()));
};
