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
      if (stack === undefined) {
        const session = readSession(dataFolder());
        refuseUnknown(scope ?? '', session.scope);
        return console.log(printable(await fetchToken({ ...session, ...asked })));
      }
      // Only this option needs the clients of AWS, which take longer to load than all the rest.
      const { fetchDeployedToken, readDeployedIssuer } = await import('./deployed-issuer.ts');
      const source = { ...(await readDeployedIssuer(stack)), ...asked };
      return console.log(printable(await fetchDeployedToken(source, (line) => console.error(printable(line)))));
    });

/** The local issuer leaves out unknown scopes, as OAuth allows, so a typing error would show only in a 403. */
const refuseUnknown = (asked: string, known: string): void => {
  const unknown = asked.split(' ').filter((each) => each !== '' && !known.split(' ').includes(each));
  if (unknown.length > 0) throw new Error(`The contract has no scope ${unknown.join(', ')}. It has ${known}.`);
};
