/** Prints an access token for the running local service, or for a deployed stack, to standard output. */
import { fetchToken, readSession } from '../start/session.ts';
import { dataFolder } from '../start/settings.ts';
import { type Define, printable } from '../terminal.ts';

export const define: Define = (command, { console }) =>
  command
    .option('--stack <name>', 'a deployed stack, such as OrderStore, instead of the local service')
    .option('--scope <scope>', 'the scopes to ask for, separated by spaces (default: all scopes of the contract)')
    .action(async ({ stack, scope }: { stack?: string; scope?: string }) => {
      const asked = scope === undefined ? {} : { scope };
      if (stack === undefined)
        return console.log(printable(await fetchToken({ ...readSession(dataFolder()), ...asked })));
      // Only this option needs the clients of AWS, which take longer to load than all the rest.
      const { fetchDeployedToken, readDeployedIssuer } = await import('./deployed-issuer.ts');
      const source = { ...(await readDeployedIssuer(stack)), ...asked };
      return console.log(printable(await fetchDeployedToken(source, (line) => console.error(printable(line)))));
    });
