/** The options of `start`. The packages that it needs are loaded only when it runs. */
import type { Define } from '../terminal.ts';
import { inspectorPort } from './settings.ts';

export const define: Define = (command) =>
  command
    .option('--debug [port]', 'accept a debugger, on port 9229 unless another is given', inspectorPort)
    .option('--watch', 'serve changes of the source files without a restart')
    .option('--verbose', 'print every request, not a summary, if there are many')
    .addHelpText(
      'after',
      `
Settings are environment variables, as in PORT=3001 npm start:
  PORT                       the port on 127.0.0.1; 0 means any free port (default: 3000)
  DATA_DIR                   the folder for the items (default: .local-service)
  AWS_ENDPOINT_URL_DYNAMODB  the store to use instead of the built-in one`,
    )
    .action(async ({ debug, ...options }) => {
      const { start } = await import('./main.ts');
      await start({ ...options, ...(debug !== undefined && { debug: debug === true ? 9229 : debug }) });
    });
