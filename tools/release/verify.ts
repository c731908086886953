/** `npm run -s verify -- --stack PlantStore` says whether a deployed stack's functions run the code in this folder. */
import { execFileSync } from 'node:child_process';
import { GetAliasCommand, GetFunctionCommand, LambdaClient } from '@aws-sdk/client-lambda';
import { Command } from 'commander';
import { unzipSync } from 'fflate';
import { bundle, listDevEntries, listEntries } from '../../infra/bundling.ts';
import { explain, listResources, orExplain } from '../cli/aws.ts';
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

/** A function of a stack. `id` is its logical id, such as Authorizer12AB34CD; `live` is its alias's name, if any. */
type DeployedFunction = { id: string; name: string; live: string | undefined };

/**
 * `version` is a number or $LATEST; `share` (from 0 to 1) is the share of a function's calls that this version gets.
 * `declared` is the bundle's SHA-256 according to the environment variable BUNDLE_SHA256; `files` has the content of
 * index.js and the names of all files in the version's code.
 */
type DeployedVersion = {
  version: string;
  share: number;
  declared: string | undefined;
  files: { code: Uint8Array | undefined; names: string[] };
};

/** Lists the functions of a stack, with their aliases. */
const listFunctions = async (stack: string): Promise<DeployedFunction[]> => {
  const functions: Record<string, string> = {};
  const aliases: string[] = [];
  for (const { ResourceType, LogicalResourceId = '', PhysicalResourceId = '' } of await listResources(stack)) {
    if (ResourceType === 'AWS::Lambda::Function') functions[LogicalResourceId] = PhysicalResourceId;
    // An alias's physical id is its ARN, which ends with the names of the function and of the alias.
    if (ResourceType === 'AWS::Lambda::Alias') aliases.push(PhysicalResourceId);
  }
  const found = Object.entries(functions).map(([id, name]) => {
    const alias = aliases.find((arn) => arn.split(':').at(-2) === name);
    return { id, name, live: alias?.split(':').at(-1) };
  });
  if (found.length === 0) throw new Error(`The stack ${stack} has no functions.`);
  return found;
};

/** Downloads the code that callers of a function reach: one version, or two while a deployment shifts the calls. */
const downloadLive = ({ id, name, live }: DeployedFunction): Promise<DeployedVersion[]> =>
  orExplain(`The code of ${id} cannot be read`, async () => {
    const client = new LambdaClient();
    const shares = live === undefined ? { $LATEST: 1 } : await readShares(client, name, live);
    return Promise.all(
      Object.entries(shares).map(async ([version, share]) => ({ ...(await download(client, name, version)), share })),
    );
  });

/** Returns the share of the calls (0 to 1) that each version behind an alias gets. */
const readShares = async (client: LambdaClient, name: string, alias: string): Promise<Record<string, number>> => {
  const { FunctionVersion = '', RoutingConfig } = await client.send(
    new GetAliasCommand({ FunctionName: name, Name: alias }),
  );
  const added = RoutingConfig?.AdditionalVersionWeights ?? {};
  const sum = Object.values(added).reduce((total, weight) => total + weight, 0);
  return { [FunctionVersion]: 1 - sum, ...added };
};

const download = async (
  client: LambdaClient,
  name: string,
  version: string,
): Promise<Omit<DeployedVersion, 'share'>> => {
  const { Code, Configuration } = await client.send(new GetFunctionCommand({ FunctionName: name, Qualifier: version }));
  // `Code.Location` is a link to S3 that works for ten minutes, without credentials.
  const response = await fetch(Code?.Location ?? '').catch((error: Error) => {
    throw new Error(`version ${version} cannot be downloaded: ${explain(error.cause ?? error)}`);
  });
  if (!response.ok) throw new Error(`version ${version} cannot be downloaded: S3 responded with ${response.status}`);
  const declared = Configuration?.Environment?.Variables?.['BUNDLE_SHA256'];
  return { version, declared, files: unzip(await response.bytes()) };
};

const unzip = (zip: Uint8Array): DeployedVersion['files'] => {
  // A zip file may contain two files with the same name. `unzipSync` returns only the last one, so list all names here.
  const names: string[] = [];
  const files = unzipSync(zip, { filter: ({ name }) => names.push(name) > 0 });
  return { code: files['index.js'], names };
};

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
