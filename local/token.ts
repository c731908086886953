/**
 * `npm run -s token`: an access token for the running local service, and nothing else, on standard output;
 * `npm run -s token -- --stack PlantStore`: one for a deployed stack.
 */
import { parseArgs } from 'node:util';
import { dataFolder } from './data-folder.ts';
import { readDeployedIssuer } from './deployed-issuer.ts';
import { fetchToken, readSession } from './session.ts';

try {
  const { stack } = parseArgs({ options: { stack: { type: 'string' } } }).values;
  console.log(
    await fetchToken(stack === undefined ? await readSession(dataFolder()) : await readDeployedIssuer(stack)),
  );
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exit(1);
}
