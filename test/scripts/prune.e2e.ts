/** Tests scripts/prune.ts against fake endpoints of CloudFormation and Lambda, and runs what it prints with a fake `aws`. */
import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { run, temporaryFolder } from '../kit/local-service.ts';
import { startServer } from '../kit/servers.ts';

/** For each function, its versions, the newest last, each with the name of its role. */
type Functions = Record<string, [version: string, role: string][]>;
type Account = { functions: Functions; orphans?: string[]; status?: string };

const roleArn = (role: string, stack = 'PlantStore') => `arn:aws:iam::1:role/${stack}/us-east-1/${role}`;

const startAccount = async ({ functions, orphans = [], status = 'UPDATE_COMPLETE' }: Account) => {
  const roles = [...new Set([...Object.values(functions).flatMap((all) => all.map(([, role]) => role)), ...orphans])];
  const ofStack = roles
    .filter((role) => !role.includes(':'))
    .map((role) => `<member><Arn>${roleArn(role)}</Arn></member>`);
  const members = Object.keys(functions).map(
    (name) =>
      `<member><ResourceType>AWS::Lambda::Function</ResourceType><LogicalResourceId>${name}</LogicalResourceId><PhysicalResourceId>${name}</PhysicalResourceId></member>`,
  );
  const server = createServer(async (request, response) => {
    const body = new URLSearchParams(Buffer.concat(await request.toArray()).toString());
    const xml = (inner: string) => {
      const action = body.get('Action');
      return response.end(`<${action}Response><${action}Result>${inner}</${action}Result></${action}Response>`);
    };
    if (body.get('Action') === 'DescribeStacks')
      return xml(
        `<Stacks><member><StackName>PlantStore</StackName><StackStatus>${status}</StackStatus></member></Stacks>`,
      );
    if (body.get('Action') === 'ListRoles')
      return xml(body.get('PathPrefix') === '/PlantStore/us-east-1/' ? `<Roles>${ofStack.join('')}</Roles>` : '');
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://localhost');
    const [, name = ''] = /functions\/(\w+)\/versions$/.exec(pathname) ?? [];
    if (name === '') return xml(`<StackResourceSummaries>${members.join('')}</StackResourceSummaries>`);
    // Lambda lists versions in pages.
    const all = functions[name] ?? [];
    const page = searchParams.has('Marker') ? all.slice(3) : all.slice(0, 3);
    const Versions = page.map(([Version, role]) => ({ Version, Role: role.includes(':') ? role : roleArn(role) }));
    return response.end(JSON.stringify({ Versions, ...(!searchParams.has('Marker') && { NextMarker: 'more' }) }));
  });
  const url = `http://127.0.0.1:${await startServer(server)}`;
  const endpoints = { AWS_ENDPOINT_URL_LAMBDA: url, AWS_ENDPOINT_URL_CLOUDFORMATION: url, AWS_ENDPOINT_URL_IAM: url };
  return { AWS_REGION: 'us-east-1', AWS_ACCESS_KEY_ID: 'test', AWS_SECRET_ACCESS_KEY: 'test', ...endpoints };
};

const prune = async (account: Account, ...args: string[]) => {
  const environment = await startAccount(account);
  const { code, stdout, stderr } = await run(
    process.execPath,
    ['scripts/prune.ts', '--stack', 'PlantStore', ...args],
    environment,
  ).ended;
  return { code, commands: stdout, stderr };
};

/** Runs commands with an `aws` that refuses those that contain `refused`. @returns the commands that succeeded */
const execute = async (commands: string, refused: string): Promise<string[]> => {
  const { folder, remove } = await temporaryFolder();
  onTestFinished(remove);
  const log = path.join(folder, 'log');
  const aws = `#!/bin/sh\ncase "$*" in *"${refused}"*) exit 254 ;; esac\necho "$*" >> '${log}'\n`;
  await writeFile(path.join(folder, 'aws'), aws, { mode: 0o755 });
  await run('sh', ['-c', commands], { PATH: `${folder}:/usr/bin:/bin` }).ended;
  return (await readFile(log, 'utf8')).trimEnd().split('\n');
};

const functions: Functions = {
  Create: [
    ['$LATEST', 'CreateC'],
    ['1', 'CreateA'],
    ['2', 'CreateA'],
    ['3', 'CreateB'],
    ['9', 'CreateC'],
    ['10', 'CreateB'],
    ['11', 'CreateC'],
  ],
  Authorizer: [
    ['$LATEST', 'AuthorizerA'],
    ['1', 'arn:aws:iam::1:role/made-by-hand'],
    ['2', roleArn('OtherA', 'PlantStore-dev')],
    ['3', 'AuthorizerA'],
    ['4', 'AuthorizerA'],
  ],
};

const deleteVersion = (name: string, version: number) =>
  `lambda delete-function --function-name ${name} --qualifier ${version}`;

test('prune deletes all but the newest versions, and a role of the stack once no version has it', async () => {
  const { code, commands } = await prune({ functions, orphans: ['RemovedA'] }, '--keep', '2');
  expect(code).toBe(0);
  expect((await execute(commands, 'nothing')).sort()).toEqual(
    [
      ...[1, 2, 3, 9].map((version) => deleteVersion('Create', version)),
      ...[1, 2].map((version) => deleteVersion('Authorizer', version)),
      'iam delete-role-policy --role-name CreateA --policy-name Permissions',
      'iam delete-role --role-name CreateA',
      // The function of an operation that the contract no longer has had this role.
      'iam delete-role-policy --role-name RemovedA --policy-name Permissions',
      'iam delete-role --role-name RemovedA',
    ].sort(),
  );
});

test('prune keeps the role of a version that Lambda does not delete, because an alias points to it', async () => {
  const { commands } = await prune({ functions, orphans: ['RemovedA'] }, '--keep', '2');
  const done = await execute(commands, deleteVersion('Create', 1));
  expect(done.filter((each) => each.includes('CreateA'))).toEqual([]);
});

test('prune keeps five versions of each function unless told otherwise, and says if there is nothing to delete', async () => {
  const { Authorizer = [] } = functions;
  const none = { code: 0, commands: '', stderr: 'PlantStore has nothing to prune.\n' };
  expect(await prune({ functions: { Authorizer } })).toEqual(none);
  expect((await prune({ functions })).commands).toBe(`aws ${deleteVersion('Create', 1)}\n`);
});

test.each(['0', '1', 'some'])('prune refuses to keep %s versions', async (keep) => {
  const { code, commands, stderr } = await prune({ functions }, '--keep', keep);
  expect([code, commands]).toEqual([1, '']);
  expect(stderr).toContain('It must be a whole number from 2 to 9999.');
});

test.each(['UPDATE_IN_PROGRESS', 'UPDATE_ROLLBACK_FAILED'])(
  'prune prints nothing while the stack is in %s',
  async (status) => {
    const stderr = `The stack PlantStore is in ${status}. Wait until it is in a state …_COMPLETE.\n`;
    expect(await prune({ functions, status })).toEqual({ code: 1, commands: '', stderr });
  },
);
