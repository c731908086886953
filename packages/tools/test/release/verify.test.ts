/** Tests `verify` against fake endpoints of CloudFormation, Lambda and S3. */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import path from 'node:path';
import { startAccount } from '@lambda-service/testing/fake-aws';
import { startServer } from '@lambda-service/testing/servers';
import { strToU8, zipSync } from 'fflate';
import { expect, inject, test } from 'vitest';
import { sha256Of } from '../../start/bundles.ts';
import { runHere } from '../cli/kit/run-here.ts';

/**
 * A version of a function. `zip` is the zip file with its code, or the HTTP status of a failed download; `declared` is
 * its variable BUNDLE_SHA256; `share` is the share of calls that the alias `live`, if there is one, gives to it.
 */
type Version = { zip: Uint8Array | number; declared?: string; share?: number };
type Functions = Record<string, Record<string, Version>>;

const stackName = inject('stackName');
const versionPath = new RegExp(`/${stackName}-(\\w+)(?:/(\\d+|\\$LATEST)\\.zip)?`);

/** The functions that `cdk deploy` would deploy now, each with its logical id and its code. */
const built = inject('stack').functions.map(({ name, folder }) => {
  const code = readFileSync(path.join(folder, 'index.js'));
  return { id: name, code, declared: sha256Of(code), zip: zipSync({ 'index.js': code }), share: 1 };
});
type Built = (typeof built)[number];
const [first, second, third] = built as [Built, Built, Built];
const matching: Functions = Object.fromEntries(built.map(({ id, ...version }) => [id, { 7: version }]));

/** Starts a fake AWS account. @returns the environment variables with which a command reaches it */
const startAws = async (functions: Functions): Promise<Record<string, string>> => {
  const resources = Object.entries(functions).flatMap(([LogicalResourceId, versions]) => {
    const PhysicalResourceId = `${stackName}-${LogicalResourceId}`;
    const hasAlias = Object.values(versions).some(({ share }) => share);
    return [
      { ResourceType: 'AWS::Lambda::Function', LogicalResourceId, PhysicalResourceId },
      ...(hasAlias ? [{ ResourceType: 'AWS::Lambda::Alias', PhysicalResourceId: `${PhysicalResourceId}:live` }] : []),
    ];
  });
  const { environment } = await startAccount({ resources }, expect.unreachable);
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://localhost');
    const [, id = '', download] = versionPath.exec(pathname) ?? [];
    const versions = functions[id] ?? {};
    if (download !== undefined) {
      const { zip = 404 } = versions[download] ?? {};
      return typeof zip === 'number' ? response.writeHead(zip).end('<Error/>') : response.end(zip);
    }
    if (pathname.endsWith('/aliases/live')) {
      const [[FunctionVersion] = [''], ...others] = Object.entries(versions);
      const AdditionalVersionWeights = Object.fromEntries(others.map(([version, { share }]) => [version, share]));
      return response.end(JSON.stringify({ FunctionVersion, RoutingConfig: { AdditionalVersionWeights } }));
    }
    const version = searchParams.get('Qualifier') ?? '';
    const Variables = { BUNDLE_SHA256: versions[version]?.declared };
    const Location = `http://${request.headers.host}/${stackName}-${id}/${version}.zip`;
    return response.end(JSON.stringify({ Configuration: { Environment: { Variables } }, Code: { Location } }));
  });
  return { ...environment, AWS_ENDPOINT_URL_LAMBDA: `http://127.0.0.1:${await startServer(server)}` };
};

const verifyStack = async (functions: Functions, stack = stackName) => {
  const { code, stdout, stderr } = await runHere(['verify', '--stack', stack], await startAws(functions)).ended;
  const [heading, ...said] = stdout.trimEnd().split('\n');
  return { code, heading, said, stderr };
};

/** Each of these synthesizes the stack in a child process. */
const slow = { timeout: 60_000 };

test(
  'verify lists each deployed function that runs the code of this folder, and names the commit in it',
  slow,
  async () => {
    const said = built.map(({ id, declared }) => `${id} version 7 matches: ${declared}`);
    const commit = String.raw`commit [\da-f]{40}( and changes that are not committed)?`;
    // A copy of the project may have no git repository, or one without a commit.
    const hasCommit = spawnSync('git', ['rev-parse', 'HEAD']).status === 0;
    const folder = hasCommit ? commit : 'this folder, which is not a git checkout';
    const heading = expect.stringMatching(new RegExp(`^The stack ${stackName}, compared with ${folder}:$`));
    expect(await verifyStack(matching)).toEqual({ code: 0, heading, said, stderr: '' });
  },
);

test('verify fails if the stack of a developer lacks a function, unless only prod has it', slow, async () => {
  const functions = Object.fromEntries(
    Object.entries(matching).filter(([id]) => !/^(SmokeTest|OutsideCheck)/.test(id)),
  );
  expect(await verifyStack(functions, `${stackName}-dev-anna`)).toMatchObject({ code: 0, stderr: '' });
  const { [first.id]: _, ...fewer } = functions;
  expect(await verifyStack(fewer, `${stackName}-dev-anna`)).toMatchObject({ code: 1 });
});

test('verify says what is wrong with each function and each version of it that is called', slow, async () => {
  const other = strToU8('exports.handler = () => {};');
  const zip = zipSync({ 'index.js': other });
  const twice = Buffer.from(zipSync({ 'index.js': first.code, 'index.jt': other }));
  for (let at = twice.indexOf('index.jt'); at >= 0; at = twice.indexOf('index.jt')) twice.write('index.js', at);
  const { declared } = first;
  const differ = (from: Built) => `${sha256Of(other)} runs, but this folder makes ${from.declared}`;
  const kinds: [id: string, version: Version, what: string][] = [
    [second.id, { zip, declared }, `${differ(second)}; its variable BUNDLE_SHA256 is ${declared}`],
    [third.id, { zip: twice, declared }, 'the files index.js, index.js run, not index.js alone'],
  ];
  const { code, said, stderr } = await verifyStack({
    [first.id]: { 6: { zip, share: 0.9 }, 7: { ...first, share: 0.1 } },
    Backdoor00000000: { $LATEST: { ...first, share: 0 } },
    // A function without an alias runs its version $LATEST.
    ...Object.fromEntries(kinds.map(([id, version]) => [id, { $LATEST: version }])),
  });
  expect({ code, said: said.filter((line) => !line.startsWith('The stack has no function')), stderr }).toEqual({
    code: 1,
    said: [
      `${first.id} version 6 (90 % of the calls, in a roll-out) differs: ${differ(first)}; its variable BUNDLE_SHA256 is not set`,
      `${first.id} version 7 (10 % of the calls, in a roll-out) matches: ${declared}`,
      'Backdoor00000000 differs: this folder has no such function',
      ...kinds.map(([id, , what]) => `${id} version $LATEST differs: ${what}`),
    ],
    stderr: expect.stringMatching(/^This is not what runs\. Check out the commit that was deployed, run npm ci, .*\n$/),
  });
  expect(said.filter((line) => line.startsWith('The stack has no function'))).toHaveLength(built.length - 3);
});

test.each<[sentence: string, zip?: Uint8Array | number]>([
  [`The stack ${stackName} has no functions.`],
  [`The code of ${first.id} cannot be read: version 7 cannot be downloaded: S3 responded with 403`, 403],
  [`The code of ${first.id} cannot be read: invalid zip data`, strToU8('<html>')],
])('verify fails with the sentence "%s"', slow, async (sentence, zip) => {
  const functions = zip === undefined ? {} : { [first.id]: { 7: { zip, share: 1 } } };
  expect(await verifyStack(functions)).toMatchObject({ code: 1, said: [], stderr: `${sentence}\n` });
});

test('verify compares no stack that this folder does not make', slow, async () => {
  const stderr = expect.stringMatching(/^This folder makes the stack (\w+)-dev for the stage dev, not \1s-dev\.\n$/);
  expect(await verifyStack(matching, `${stackName}s-dev`)).toMatchObject({ code: 1, said: [], stderr });
});
