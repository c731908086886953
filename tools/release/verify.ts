/** `npm run -s verify -- --stack PlantStore` says whether a deployed stack's functions run the code in this folder. */
import { execFileSync } from 'node:child_process';
import { Command } from 'commander';
import { bundle, listDevEntries, listEntries } from '../../infra/bundling.ts';
import { type DeployedFunction, type DeployedVersion, downloadLive, listFunctions } from '../cli/deployed-code.ts';
import { sha256Of } from '../start/bundles.ts';
import { messageOf, printable } from '../start/terminal.ts';

const { stack } = new Command('npm run -s verify --')
  .description(
    'Downloads the code of the functions of a deployed stack, and compares it with what the files in this folder make.',
  )
  .option('--stack <name>', 'the name of the stack', 'PlantStore')
  .showHelpAfterError('See: npm run -s verify -- --help')
  .parse()
  .opts<{ stack: string }>();

/** Names the commit that is checked out, and says if files have changed since. */
const describeFolder = (): string => {
  const git = (...args: string[]): string =>
    execFileSync('git', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  try {
    const changes = git('status', '--porcelain') === '' ? '' : ' and changes that are not committed';
    return `commit ${git('rev-parse', 'HEAD')}${changes}`;
  } catch {
    return 'this folder, which is not a git checkout';
  }
};

/** Returns the CDK construct id of an entry's function, such as CreatePlant for create-plant.lambda.ts. */
const functionOf = (entry: string): string =>
  entry.replace('.lambda.ts', '').replaceAll(/(?:^|-)(\w)/g, (_, letter: string) => letter.toUpperCase());

/** A logical id consists of the ids of the parent constructs, the function's construct id, and a hash. */
const entryOf = ({ id }: DeployedFunction): string | undefined =>
  listEntries()
    .filter((entry) => id.replace(/[0-9A-F]{8}$/, '').endsWith(functionOf(entry)))
    .sort((a, b) => b.length - a.length)[0];

/** `built` is the SHA-256 of this folder's bundle. @returns the difference, or undefined */
const difference = ({ declared, files: { code, names } }: DeployedVersion, built: string): string | undefined => {
  if (code === undefined || names.length > 1) return `the files ${names.join(', ')} run, not index.js alone`;
  const runs = sha256Of(code);
  if (runs === built) return undefined;
  return `${runs} runs, but this folder makes ${built}; its variable BUNDLE_SHA256 is ${declared ?? 'not set'}`;
};

/** Compares the code of this folder with each version that callers of a function reach. */
const compare = async (found: DeployedFunction): Promise<{ line: string; matches: boolean }[]> => {
  const entry = entryOf(found);
  if (entry === undefined) return [{ line: `${found.id} differs: functions/ has no entry for it`, matches: false }];
  const built = sha256Of(bundle(entry));
  const versions = await downloadLive(found);
  return versions.map((each) => {
    const share = versions.length > 1 ? ` (${Math.round(each.share * 100)} % of the calls, in a roll-out)` : '';
    const different = difference(each, built);
    const verdict = different === undefined ? `matches: ${built}` : `differs: ${different}`;
    return { line: `${found.id} version ${each.version}${share} ${verdict}`, matches: different === undefined };
  });
};

try {
  console.log(`The stack ${stack}, compared with ${describeFolder()}:`);
  const functions = await listFunctions(stack);
  const rows = (await Promise.all(functions.map(compare))).flat();
  const entries = /-dev(?:-[a-z\d-]+)?$/.test(stack) ? listDevEntries() : listEntries();
  const missing = entries.filter((entry) => !functions.some((each) => entryOf(each) === entry));
  for (const { line } of rows) console.log(printable(line));
  for (const entry of missing) console.log(`The stack has no function for functions/${entry}.`);
  if (missing.length > 0 || rows.some(({ matches }) => !matches)) {
    console.error(
      'This is not what runs. Check out the commit that was deployed, run npm ci, and try again; docs/deploy.md says how to find it.',
    );
    process.exitCode = 1;
  }
} catch (error) {
  console.error(messageOf(error));
  process.exitCode = 1;
}
