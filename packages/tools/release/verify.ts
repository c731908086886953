/** `npm run -s verify -- --stack PlantStore` says whether a deployed stack's functions run the code in this folder. */
import { execFileSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { Lambda } from '@aws-sdk/client-lambda';
import { bundle, listEntries } from '@lambda-service/cdk/bundling';
import { unzipSync } from 'fflate';
import { runApp } from '../app.ts';
import { explain, listResources, orExplain } from '../cli/aws.ts';
import { NpmCommand } from '../cli/npm-command.ts';
import { sha256Of } from '../start/bundles.ts';
import { type Command, printable, runCommand, withoutHash } from '../terminal.ts';

/** A function of a stack. `id` is its logical id, such as Authorizer12AB34CD; `live` is its alias's name, if any. */
type DeployedFunction = { id: string; name: string; live: string | undefined };

/** Lists the functions of a stack, with their aliases. */
const listFunctions = async (stack: string): Promise<DeployedFunction[]> => {
  const resources = await listResources(stack);
  const named = (type: string) => resources.filter(({ ResourceType }) => ResourceType === type);
  // An alias's physical id is its ARN, which ends with the names of the function and of the alias.
  const aliases = named('AWS::Lambda::Alias').map(({ PhysicalResourceId = '' }) => PhysicalResourceId.split(':'));
  const found = named('AWS::Lambda::Function').map(({ LogicalResourceId: id = '', PhysicalResourceId: name = '' }) => {
    return { id, name, live: aliases.find((arn) => arn.at(-2) === name)?.at(-1) };
  });
  if (found.length === 0) throw new Error(`The stack ${stack} has no functions.`);
  return found;
};

/** Returns the share of a function's calls (0 to 1) that each version gets: two, while a deployment shifts the calls. */
const readShares = async (client: Lambda, { name, live }: DeployedFunction): Promise<Record<string, number>> => {
  if (live === undefined) return { $LATEST: 1 };
  const alias = await client.getAlias({ FunctionName: name, Name: live });
  const added = alias.RoutingConfig?.AdditionalVersionWeights ?? {};
  const sum = Object.values(added).reduce((total, weight) => total + weight, 0);
  return { [alias.FunctionVersion ?? '']: 1 - sum, ...added };
};

/**
 * Downloads a version of a function. `declared` is the bundle's SHA-256 according to the variable BUNDLE_SHA256, `code`
 * the content of index.js, and `names` has the names of all files in the version's code.
 */
const download = async (client: Lambda, name: string, version: string) => {
  const { Code, Configuration } = await client.getFunction({ FunctionName: name, Qualifier: version });
  // `Code.Location` is a link to S3 that works for ten minutes, without credentials.
  const response = await fetch(Code?.Location ?? '').catch((error: Error) => {
    throw new Error(`version ${version} cannot be downloaded: ${explain(error.cause ?? error)}`);
  });
  if (!response.ok) throw new Error(`version ${version} cannot be downloaded: S3 responded with ${response.status}`);
  // A zip file may contain two files with the same name. `unzipSync` returns only the last one, so list all names here.
  const names: string[] = [];
  const files = unzipSync(await response.bytes(), { filter: ({ name }) => names.push(name) > 0 });
  return { declared: Configuration?.Environment?.Variables?.['BUNDLE_SHA256'], code: files['index.js'], names };
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

/** Lists the entries of the functions that this folder gives the stack, by their logical ids without hashes. */
const readEntries = async (stack: string): Promise<Map<string, string>> => {
  const outdir = await mkdtemp(path.join(os.tmpdir(), 'verify-'));
  try {
    const context = {
      stage: stack.replace(/^[^-]*-?/, '') || 'prod',
      alarmEmail: 'none',
      permissionsBoundary: undefined,
    };
    const stacks = await runApp('.', { outdir, context }, new AbortController().signal);
    const entries = new Map(listEntries().map((entry) => [sha256Of(bundle(entry)), entry]));
    const resources = stacks.values().flatMap(({ template }) => Object.entries(template.Resources));
    return new Map(
      resources.flatMap(([id, { Properties }]) => {
        const entry = entries.get(Object(Properties?.['Environment']).Variables?.BUNDLE_SHA256);
        return entry === undefined ? [] : [[withoutHash(id), entry] as const];
      }),
    );
  } finally {
    await rm(outdir, { recursive: true });
  }
};

/** `built` is the SHA-256 of this folder's bundle. @returns the difference, or undefined */
const difference = ({ declared, code, names }: Awaited<ReturnType<typeof download>>, built: string) => {
  if (code === undefined || names.length > 1) return `the files ${names.join(', ')} run, not index.js alone`;
  const runs = sha256Of(code);
  if (runs === built) return undefined;
  return `${runs} runs, but this folder makes ${built}; its variable BUNDLE_SHA256 is ${declared ?? 'not set'}`;
};

/** Compares the code of this folder with each version that callers of a function reach. */
const compare = async (
  found: DeployedFunction,
  entry: string | undefined,
): Promise<{ line: string; matches: boolean }[]> => {
  if (entry === undefined) return [{ line: `${found.id} differs: functions/ has no entry for it`, matches: false }];
  const built = sha256Of(bundle(entry));
  return orExplain(`The code of ${found.id} cannot be read`, async () => {
    const client = new Lambda();
    const shares = Object.entries(await readShares(client, found));
    const lines = shares.map(async ([version, share]) => {
      const different = difference(await download(client, found.name, version), built);
      const part = shares.length > 1 ? ` (${Math.round(share * 100)} % of the calls, in a roll-out)` : '';
      const verdict = different === undefined ? `matches: ${built}` : `differs: ${different}`;
      return { line: `${found.id} version ${version}${part} ${verdict}`, matches: different === undefined };
    });
    return Promise.all(lines);
  });
};

export const verify: Command = async (process, console) => {
  const { stack } = new NpmCommand('npm run -s verify --', console)
    .description(
      'Compares the code that the functions of a deployed stack run with what the files in this folder make.',
    )
    .option('--stack <name>', 'the name of the stack', 'PlantStore')
    .parse(process.argv)
    .opts<{ stack: string }>();
  console.log(`The stack ${stack}, compared with ${describeFolder()}:`);
  const functions = await listFunctions(stack);
  const entries = await readEntries(stack);
  const rows = (await Promise.all(functions.map((each) => compare(each, entries.get(withoutHash(each.id)))))).flat();
  const missing = [...entries].filter(([id]) => !functions.some((each) => withoutHash(each.id) === id));
  for (const { line } of rows) console.log(printable(line));
  for (const [, entry] of missing) console.log(`The stack has no function for functions/${entry}.`);
  if (missing.length === 0 && rows.every(({ matches }) => matches)) return;
  throw new Error(
    'This is not what runs. Check out the commit that was deployed, run npm ci, and try again; docs/deploy.md says how to find it.',
  );
};

if (import.meta.main) await runCommand(verify);
