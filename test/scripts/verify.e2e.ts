/** Tests `npm run verify` against fake endpoints of CloudFormation, Lambda and S3. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import path from 'node:path';
import { strToU8, zipSync } from 'fflate';
import { beforeAll, expect, inject, onTestFinished, test } from 'vitest';
import { listEntries } from '../../infra/bundling.ts';
import { run, temporaryFolder } from '../kit/local-service.ts';
import { startServer } from '../kit/servers.ts';

/**
 * A version of a function. `zip` is the zip file with the version's code, or the HTTP status of a failed download.
 * `declared` is the version's environment variable BUNDLE_SHA256.
 */
type Version = { zip: Uint8Array | number; declared?: string | undefined };
/**
 * The versions of a function, and the share of calls that its alias `live` gives to each. Without an alias, `weights`
 * is missing.
 */
type Fake = { versions: Record<string, Version>; weights?: Record<string, number> };

const sha256 = (code: Uint8Array): string => createHash('sha256').update(code).digest('hex');

/** The functions that `cdk deploy` would deploy now, each with its logical id and its code. */
const built = inject('stack').functions.map(({ name, folder }) => {
  const code = readFileSync(path.join(folder, 'index.js'));
  return { id: name, code, declared: sha256(code), zip: zipSync({ 'index.js': code }) };
});
const [first] = built as [(typeof built)[number]];

const matching = (): Record<string, Fake> =>
  Object.fromEntries(
    built.map(({ id, zip, declared }) => [id, { versions: { 7: { zip, declared } }, weights: { 7: 1 } }]),
  );

/**
 * Starts a fake AWS account with these functions in the stack PlantStore. @returns the environment variables with which
 * a command reaches the account
 */
const startAccount = async (functions: Record<string, Fake>): Promise<Record<string, string>> => {
  const resources = Object.entries(functions).flatMap(([id, { weights }]) => [
    ['AWS::Lambda::Function', id, `PlantStore-${id}`],
    ...(weights
      ? [['AWS::Lambda::Alias', `${id}Live`, `arn:aws:lambda:us-east-1:1:function:PlantStore-${id}:live`]]
      : []),
  ]);
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://localhost');
    const fail = (code: string, message: string) =>
      pathname === '/'
        ? response
            .writeHead(400)
            .end(`<ErrorResponse><Error><Code>${code}</Code><Message>${message}</Message></Error></ErrorResponse>`)
        : response.writeHead(403, { 'x-amzn-errortype': code }).end(JSON.stringify({ message }));
    if (pathname === '/') {
      if (resources.length === 0) return fail('ValidationError', 'Stack with id PlantStore does not exist');
      const members = resources.map(
        ([type, id, physical]) =>
          `<member><ResourceType>${type}</ResourceType><LogicalResourceId>${id}</LogicalResourceId><PhysicalResourceId>${physical}</PhysicalResourceId></member>`,
      );
      return response.end(
        `<ListStackResourcesResponse><ListStackResourcesResult><StackResourceSummaries>${members.join('')}</StackResourceSummaries></ListStackResourcesResult></ListStackResourcesResponse>`,
      );
    }
    const [, id = '', version] = /\/PlantStore-(\w+)(?:\/(\d+|\$LATEST)\.zip)?/.exec(pathname) ?? [];
    const { versions, weights = {} } = functions[id] ?? { versions: {} };
    if (version !== undefined) {
      const { zip = 404 } = versions[version] ?? {};
      return typeof zip === 'number' ? response.writeHead(zip).end('<Error/>') : response.end(zip);
    }
    if (pathname.endsWith('/aliases/live')) {
      const [[FunctionVersion, weight] = ['', 0], ...others] = Object.entries(weights);
      const RoutingConfig = weight < 1 ? { AdditionalVersionWeights: Object.fromEntries(others) } : undefined;
      return response.end(JSON.stringify({ FunctionVersion, RoutingConfig }));
    }
    const asked = searchParams.get('Qualifier') ?? '';
    if (versions[asked] === undefined)
      return fail('AccessDeniedException', 'not authorized to perform: lambda:GetFunction');
    const Variables = { BUNDLE_SHA256: versions[asked].declared };
    const Location = `http://${request.headers.host}/PlantStore-${id}/${asked}.zip`;
    return response.end(JSON.stringify({ Configuration: { Environment: { Variables } }, Code: { Location } }));
  });
  const url = `http://127.0.0.1:${await startServer(server)}`;
  const endpoints = { AWS_ENDPOINT_URL_LAMBDA: url, AWS_ENDPOINT_URL_CLOUDFORMATION: url };
  return { AWS_REGION: 'us-east-1', AWS_ACCESS_KEY_ID: 'test', AWS_SECRET_ACCESS_KEY: 'test', ...endpoints };
};

/** A git repository with one commit. GIT_DIR makes `npm run verify` read this repository instead of the project's. */
let repository: { folder: string; commit: string; environment: Record<string, string> };
beforeAll(async () => {
  const { folder, remove } = await temporaryFolder();
  const git = (...args: string[]) =>
    execFileSync('git', ['-C', folder, '-c', 'user.name=x', '-c', 'user.email=x', ...args], {
      encoding: 'utf8',
    }).trim();
  git('init', '--quiet');
  git('commit', '--quiet', '--allow-empty', '--message=x');
  const environment = { GIT_DIR: path.join(folder, '.git'), GIT_WORK_TREE: folder };
  repository = { folder, commit: git('rev-parse', 'HEAD'), environment };
  return remove;
});

const verify = async (
  functions: Record<string, Fake>,
  environment: Record<string, string> = {},
  [command, ...args]: [string, ...string[]] = [process.execPath, 'scripts/verify.ts'],
  stack = 'PlantStore',
) => {
  const account = { ...(await startAccount(functions)), ...repository.environment, ...environment };
  const { code, stdout, stderr } = await run(command, [...args, '--stack', stack], account).ended;
  return { code, said: stdout.trimEnd().split('\n'), stderr };
};

const heading = () => `The stack PlantStore, compared with commit ${repository.commit}:`;

const advice = expect.stringMatching(
  /^This is not what runs\. Check out the commit that was deployed, run npm ci, .*\n$/,
);

test('npm run verify lists each deployed function that runs the code of the local folder, with its version and the SHA-256 of its index.js', async () => {
  const said = [heading(), ...built.map(({ id, declared }) => `${id} version 7 matches: ${declared}`)];
  // Run the command through npm, as docs/deploy.md tells users to.
  const command: [string, ...string[]] = ['npm', 'run', '-s', 'verify', '--'];
  expect(await verify(matching(), {}, command)).toEqual({ code: 0, said, stderr: '' });
});

test.each(['PlantStore-dev-anna'])(
  'npm run verify fails if the stack %s lacks a function of the project, unless it is the function for the smoke test',
  async (stack) => {
    const { SmokeTest, ...functions } = Object.fromEntries(
      Object.entries(matching()).map(([id, fake]) => [/^SmokeTest/.test(id) ? 'SmokeTest' : id, fake]),
    );
    expect(SmokeTest).toBeDefined();
    const command: [string, ...string[]] = [process.execPath, 'scripts/verify.ts'];
    expect(await verify(functions, {}, command, stack)).toMatchObject({ code: 0, stderr: '' });
    const { [first.id]: _, ...fewer } = functions;
    expect(await verify(fewer, {}, command, stack)).toMatchObject({ code: 1 });
  },
);

test("npm run verify says what is wrong if a deployed function's code differs from this folder's build, does not match the function's variable BUNDLE_SHA256, or is not a single index.js", async () => {
  const other = strToU8('exports.handler = () => {};');
  const zip = zipSync({ 'index.js': other });
  const twice = Buffer.from(zipSync({ 'index.js': first.code, 'index.jt': other }));
  for (let at = twice.indexOf('index.jt'); at >= 0; at = twice.indexOf('index.jt')) twice.write('index.js', at);
  const kinds: [id: string, version: Version, what: string][] = [
    ['Other', { zip, declared: sha256(other) }, `${sha256(other)} runs, but this folder makes ${first.declared}`],
    [
      'Changed',
      { zip, declared: first.declared },
      `${sha256(other)} runs, but this folder makes ${first.declared}, and its variable BUNDLE_SHA256 is ${first.declared}`,
    ],
    [
      'More',
      { zip: zipSync({ 'index.js': first.code, 'evil.js': other }), declared: first.declared },
      'the files index.js, evil.js run, not index.js alone',
    ],
    ['Twice', { zip: twice, declared: first.declared }, 'the files index.js, index.js run, not index.js alone'],
    ['None', { zip: zipSync({ 'index.mjs': first.code }) }, 'the files index.mjs run, not index.js alone'],
  ];
  const functions = kinds.map(([id, version]): [string, Fake] => [
    `${id}${first.id}`,
    // A function without an alias runs its version $LATEST.
    { versions: { $LATEST: version } },
  ]);
  const { code, said, stderr } = await verify({ ...matching(), ...Object.fromEntries(functions) });
  expect({ code, stderr }).toEqual({ code: 1, stderr: advice });
  expect(said.slice(1 + built.length)).toEqual(
    kinds.map(([id, , what]) => `${id}${first.id} version $LATEST differs: ${what}`),
  );
});

test('during a roll-out, npm run verify compares both versions of a function with the local code, and prints the share of calls that each version gets', async () => {
  const other = strToU8('old');
  const old = { zip: zipSync({ 'index.js': other }), declared: sha256(other) };
  const rolling = { versions: { 6: old, 7: first }, weights: { 6: 0.9, 7: 0.1 } };
  const { code, said } = await verify({ ...matching(), [first.id]: rolling });
  expect([code, said.slice(1, 3)]).toEqual([
    1,
    [
      `${first.id} version 6 (90 % of the calls, in a roll-out) differs: ${sha256(other)} runs, but this folder makes ${first.declared}`,
      `${first.id} version 7 (10 % of the calls, in a roll-out) matches: ${first.declared}`,
    ],
  ]);
});

test('npm run verify reports deployed functions without an entry file in functions/, and entry files without a deployed function', async () => {
  const { code, said } = await verify({ Backdoor00000000: { versions: { $LATEST: first } } });
  const entries = listEntries().map((entry) => `The stack has no function for functions/${entry}.`);
  expect([code, said.slice(1)]).toEqual([1, ['Backdoor00000000 differs: functions/ has no entry for it', ...entries]]);
});

test('npm run verify tells the user if the folder has uncommitted changes or is not a git checkout', async () => {
  const file = path.join(repository.folder, 'changed');
  writeFileSync(file, '');
  onTestFinished(() => rm(file));
  const [changed, none] = await Promise.all([verify(matching()), verify(matching(), { GIT_DIR: '/nowhere' })]);
  expect([changed.code, changed.said[0]]).toEqual([0, heading().replace(':', ' and changes that are not committed:')]);
  expect([none.code, none.said[0]]).toEqual([
    0,
    'The stack PlantStore, compared with this folder, which is not a git checkout:',
  ]);
});

test.each<[what: string, functions: Record<string, Fake>, sentence: string]>([
  ['there is no such stack', {}, 'The stack PlantStore cannot be read: Stack with id PlantStore does not exist\n'],
  [
    'reading the code is forbidden',
    { [first.id]: { versions: {}, weights: { 7: 1 } } },
    `The code of ${first.id} cannot be read: not authorized to perform: lambda:GetFunction\n`,
  ],
  [
    'the download fails',
    { [first.id]: { versions: { 7: { zip: 403 } }, weights: { 7: 1 } } },
    `The code of ${first.id} cannot be read: version 7 cannot be downloaded: S3 responded with 403\n`,
  ],
  [
    'the download is not a zip file',
    { [first.id]: { versions: { 7: { zip: strToU8('<html>') } }, weights: { 7: 1 } } },
    `The code of ${first.id} cannot be read: invalid zip data\n`,
  ],
])('npm run verify says in a sentence that %s, and exits with code 1', async (_, functions, stderr) => {
  expect(await verify(functions)).toEqual({ code: 1, said: [heading()], stderr });
});
