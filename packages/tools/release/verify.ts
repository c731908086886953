/** Says whether a deployed stack's functions run the code in this folder. */
import { execFileSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { Lambda } from '@aws-sdk/client-lambda';
import { unzipSync } from 'fflate';
import { runApp } from '../app.ts';
import { explain, listResources, orExplain } from '../cli/aws.ts';
import { sha256Of } from '../start/bundles.ts';
import { type Define, printable, type Terminal, untilStopped, withoutHash } from '../terminal.ts';

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

/** Reads which functions this folder gives the stack: the hash of each one's bundle, by its logical id without hash. */
const readBuilt = async (stack: string, stop: AbortSignal): Promise<Map<string, string>> => {
  const outdir = await mkdtemp(path.join(os.tmpdir(), 'verify-'));
  try {
    const stage = stack.replace(/^[^-]*-?/, '') || 'prod';
    const stacks = await runApp('.', { outdir, context: { stage, alarmEmail: 'none' } }, stop);
    const { template } = stacks.get(stack) ?? {};
    if (template === undefined)
      throw new Error(
        `This folder makes the stack ${[...stacks.keys()].join(', ')} for the stage ${stage}, not ${stack}.`,
      );
    return new Map(
      Object.entries(template.Resources).flatMap(([id, resource]) => {
        const sha256 = hashIn(resource.Properties);
        return sha256 === undefined ? [] : [[withoutHash(id), sha256]];
      }),
    );
  } finally {
    await rm(outdir, { recursive: true });
  }
};

/** Each function has the hash of its bundle in a variable. */
const hashIn = (properties: unknown): string | undefined => Object(properties).Environment?.Variables?.BUNDLE_SHA256;

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
  built: string | undefined,
): Promise<{ line: string; matches: boolean }[]> => {
  if (built === undefined) return [{ line: `${found.id} differs: this folder has no such function`, matches: false }];
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

const verify = async (stack: string, { console, stop }: Terminal): Promise<void> => {
  console.log(`The stack ${stack}, compared with ${describeFolder()}:`);
  const functions = await listFunctions(stack);
  const signal = stop();
  const built = await readBuilt(stack, signal);
  const compared = functions.map((each) => compare(each, built.get(withoutHash(each.id))));
  const rows = (await untilStopped(signal, Promise.all(compared))).flat();
  const missing = [...built.keys()].filter((id) => !functions.some((each) => withoutHash(each.id) === id));
  for (const { line } of rows) console.log(printable(line));
  for (const id of missing) console.log(`The stack has no function ${id}.`);
  if (missing.length === 0 && rows.every(({ matches }) => matches)) return;
  throw new Error(
    'This is not what runs. Check out the commit that was deployed, run npm ci, and try again; docs/deploy.md says how to find it.',
  );
};

export const define: Define = (command, terminal) =>
  command
    .option('--stack <name>', 'the name of the stack, such as OrderStore')
    .action(({ stack }: { stack?: string }) =>
      // Not a required option: if a user typed --stak, Commander would only say that --stack is missing.
      stack === undefined ? command.error('error: name the stack, with --stack') : verify(stack, terminal),
    );
