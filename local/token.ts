/** `npm run -s token`: an access token for the running local service, and nothing else, on standard output. */
import { dataFolder } from './data-folder.ts';
import { fetchToken, readSession } from './session.ts';

try {
  console.log(await fetchToken(await readSession(dataFolder())));
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exit(1);
}
