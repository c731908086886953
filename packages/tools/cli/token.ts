/**
 * `npm run -s token` prints an access token for the running local service to standard output, and nothing else there.
 * With `--stack PlantStore`, the command prints a token for that deployed stack.
 */
import { fetchToken, readSession } from '../start/session.ts';
import { dataFolder } from '../start/settings.ts';
import { type Command, printable, runCommand } from '../terminal.ts';
import { fetchDeployedToken, readDeployedIssuer } from './deployed-issuer.ts';
import { NpmCommand } from './npm-command.ts';

export const token: Command = async (process, console) => {
  const { stack, scope } = new NpmCommand('npm run -s token --', console)
    .description('Prints an access token for the running local service, or for a stack in the AWS account.')
    .option('--stack <name>', 'the name of a deployed stack, such as PlantStore')
    .option('--scope <scope>', 'the scopes to ask for, separated by spaces (default: all scopes of the contract)')
    .parse(process.argv)
    .opts<{ stack?: string; scope?: string }>();
  const source = stack === undefined ? readSession(dataFolder()) : await readDeployedIssuer(stack);
  const asked = { ...source, ...(scope !== undefined && { scope }) };
  const say = (line: string): void => console.error(printable(line));
  console.log(printable(stack === undefined ? await fetchToken(asked) : await fetchDeployedToken(asked, say)));
};

if (import.meta.main) await runCommand(token);
