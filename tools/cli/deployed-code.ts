import { GetAliasCommand, GetFunctionCommand, LambdaClient } from '@aws-sdk/client-lambda';
import { unzipSync } from 'fflate';
import { explain, listResources, orExplain } from './aws.ts';

/** A function of a stack. `id` is its logical id, such as Authorizer12AB34CD; `live` is its alias's name, if any. */
export type DeployedFunction = { id: string; name: string; live: string | undefined };

/**
 * `version` is a number or $LATEST; `share` (from 0 to 1) is the share of a function's calls that this version gets.
 * `declared` is the bundle's SHA-256 according to the environment variable BUNDLE_SHA256; `files` has the content of
 * index.js and the names of all files in the version's code.
 */
export type DeployedVersion = {
  version: string;
  share: number;
  declared: string | undefined;
  files: { code: Uint8Array | undefined; names: string[] };
};

/** Lists the functions of a stack, with their aliases. */
export const listFunctions = async (stack: string): Promise<DeployedFunction[]> => {
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
export const downloadLive = ({ id, name, live }: DeployedFunction): Promise<DeployedVersion[]> =>
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
