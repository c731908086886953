/**
 * `npx node scripts/prune.ts --stack PlantStore` prints the AWS CLI commands that delete old versions of a stack's
 * functions, and the roles that no other version has: docs/operate/runbook.md, "Prune old versions"
 */
import { Command, InvalidArgumentError } from 'commander';
import {
  listFunctions,
  listVersionRoles,
  listVersions,
  mustBeSettled,
  type PublishedVersion,
} from '../cli/deployed-code.ts';
import { messageOf, printable } from '../local/printable.ts';

const { stack, keep } = new Command('npx node scripts/prune.ts')
  .description("Prints the commands that delete the old versions of a deployed stack's functions, and their roles.")
  .requiredOption('--stack <name>', 'the name of the stack')
  .option(
    '--keep <number>',
    'how many of the newest versions of each function to keep',
    (text) => {
      // If a deployment fails, CloudFormation goes back to the newest version but one.
      if (!/^([2-9]|[1-9]\d{1,3})$/.test(text))
        throw new InvalidArgumentError('It must be a whole number from 2 to 9999.');
      return Number(text);
    },
    5,
  )
  .showHelpAfterError('See: npx node scripts/prune.ts --help')
  .parse()
  .opts<{ stack: string; keep: number }>();

const deletions = (versions: PublishedVersion[]): string[] =>
  versions.map(({ name, version }) => `aws lambda delete-function --function-name ${name} --qualifier ${version}`);

try {
  await mustBeSettled(stack);
  const [roles, functions] = [await listVersionRoles(stack), await listFunctions(stack)];
  const versions = await Promise.all(functions.map(({ name }) => listVersions(name)));
  const kept = versions.flatMap((all) => all.filter(({ version }, index) => index < keep || version === '$LATEST'));
  const old = versions.flat().filter((version) => !kept.includes(version));
  const unused = roles.filter((role) => !kept.some((version) => version.role === role));
  for (const role of unused) {
    const name = role.replace(/^.*\//, '');
    const ofRole = [
      `aws iam delete-role-policy --role-name ${name} --policy-name Permissions`,
      `aws iam delete-role --role-name ${name}`,
    ];
    // Lambda refuses to delete a version that an alias points to. Then the role must stay, too.
    console.log(printable([...deletions(old.filter((version) => version.role === role)), ...ofRole].join(' && ')));
  }
  for (const deletion of deletions(old.filter(({ role }) => !unused.includes(role)))) console.log(printable(deletion));
  if (old.length + unused.length === 0) console.error(`${stack} has nothing to prune.`);
} catch (error) {
  console.error(messageOf(error));
  process.exitCode = 1;
}
