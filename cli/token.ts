/**
 * `npm run -s token` prints an access token for the running local service, and nothing else, to standard output;
 * `npm run -s token -- --stack PlantStore` prints one for a deployed stack.
 */
import { Command } from 'commander';
import { fetchToken, readSession } from '../local/session.ts';
import { dataFolder } from '../local/settings.ts';
import { fetchDeployedToken, readDeployedIssuer } from './deployed-issuer.ts';

const { stack } = new Command('token')
  .description('Prints an access token for the running local service, or for a stack in the AWS account.')
  .option('--stack <name>', 'the name of a deployed stack, such as PlantStore')
  .showHelpAfterError('See: npm run -s token -- --help')
  .parse()
  .opts<{ stack?: string }>();

try {
  const token =
    stack === undefined
      ? await fetchToken(readSession(dataFolder()))
      : await fetchDeployedToken(await readDeployedIssuer(stack), console.error);
  console.log(token);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exit(1);
}
