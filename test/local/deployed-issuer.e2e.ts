/** `npm run -s token -- --stack`, against stand-ins for CloudFormation, Cognito and its token endpoint. */
import { createServer } from 'node:http';
import { expect, test, vi } from 'vitest';
import { programs, run } from '../kit/local-service.ts';
import { startServer } from '../kit/servers.ts';

/** What an AWS account answers, and what it was asked. */
const startAccount = async (
  outputs: Record<string, string>,
  token: unknown = { access_token: 'a.b.c' },
  /** Times that the token endpoint answers as a domain does that is new. */
  notReady = 0,
  secret: { status: number; body: object } = { status: 200, body: { UserPoolClient: { ClientSecret: 'shh' } } },
) => {
  const asked: string[] = [];
  const regions = new Set<string>();
  const server = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray()).toString();
    const { authorization = '', 'x-amz-target': target = '' } = request.headers;
    asked.push(`${request.url} ${target} ${authorization.startsWith('Basic ') ? authorization : ''} ${body}`);
    if (request.url === '/oauth2/token') {
      if (notReady > 0) {
        notReady -= 1;
        return response.writeHead(404).end('<html></html>');
      }
      return response.end(JSON.stringify(token));
    }
    regions.add(/Credential=test\/\d+\/([^/]+)\//.exec(authorization)?.[1] ?? '');
    if (target !== '') return response.writeHead(secret.status).end(JSON.stringify(secret.body));
    const members = Object.entries({ TokenUrl: `${url}/oauth2/token`, ...outputs }).map(
      ([key, value]) => `<member><OutputKey>${key}</OutputKey><OutputValue>${value}</OutputValue></member>`,
    );
    return response.end(
      `<DescribeStacksResponse><DescribeStacksResult><Stacks><member><Outputs>${members.join('')}</Outputs></member></Stacks></DescribeStacksResult></DescribeStacksResponse>`,
    );
  });
  const url: string = `http://127.0.0.1:${await startServer(server)}`;
  const environment = {
    // AWS's command line takes this one, too.
    AWS_REGION: '',
    AWS_DEFAULT_REGION: 'eu-central-1',
    AWS_ACCESS_KEY_ID: 'test',
    AWS_SECRET_ACCESS_KEY: 'test',
    AWS_ENDPOINT_URL: url,
  };
  const readToken = (name: string, more: Record<string, string> = {}) =>
    run(process.execPath, [programs.token, '--stack', name], { ...environment, ...more }).ended;
  /** Through npm, as the README has it. */
  const viaNpm = (name: string) => run('npm', ['run', '-s', 'token', '--', '--stack', name], environment).ended;
  return { asked, regions, readToken, viaNpm };
};

const outputs = { ClientId: 'client', UserPoolId: 'eu-central-1_pool', Scope: 'plants/create' };

test("prints a token of the stack's own issuer", async () => {
  const { asked, viaNpm } = await startAccount(outputs);
  expect(await viaNpm('PlantStore')).toEqual({ code: 0, stdout: 'a.b.c\n', stderr: '' });
  expect(asked).toEqual([
    expect.stringMatching(/^\/ {3}.*Action=DescribeStacks.*StackName=PlantStore/),
    expect.stringMatching(/DescribeUserPoolClient .*"ClientId":"client"/),
    `/oauth2/token  Basic ${btoa('client:shh')} grant_type=client_credentials&scope=plants%2Fcreate`,
  ]);
});

test('waits for a new domain, and says so on standard error only', async () => {
  const { readToken } = await startAccount(outputs, { access_token: 'a.b.c' }, 1);
  const { code, stdout, stderr } = await readToken('PlantStore');
  expect({ code, stdout }).toEqual({ code: 0, stdout: 'a.b.c\n' });
  expect(stderr).toMatch(/^The token issuer refused at \S+: 404\. .*up to a minute.*\n$/);
});

test.each([
  ['AWS_REGION, if both are set', { AWS_REGION: 'eu-west-1' }, 'eu-west-1'],
  ['AWS_DEFAULT_REGION, if AWS_REGION is empty', {}, 'eu-central-1'],
])('calls the region of %s', async (_, environment, region) => {
  const { regions, readToken } = await startAccount(outputs);
  expect(await readToken('PlantStore', environment)).toMatchObject({ code: 0 });
  expect([...regions]).toEqual([region]);
});

const noRegion = 'no region is set; set AWS_REGION, for example AWS_REGION=eu-central-1';

test.each<[what: string, environment: Record<string, string>, sentence: string]>([
  ['no region', { AWS_ACCESS_KEY_ID: 'x', AWS_SECRET_ACCESS_KEY: 'x' }, noRegion],
  ['an empty region', { AWS_REGION: '', AWS_ACCESS_KEY_ID: 'x', AWS_SECRET_ACCESS_KEY: 'x' }, noRegion],
  [
    'no credentials',
    { AWS_REGION: 'eu-central-1' },
    'no AWS credentials are found; set AWS_PROFILE to a profile that has some, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY',
  ],
])('says what to set with %s', async (_, environment, sentence) => {
  for (const name of Object.keys(process.env)) if (name.startsWith('AWS_')) vi.stubEnv(name, undefined);
  const nowhere = {
    AWS_CONFIG_FILE: '/nowhere',
    AWS_SHARED_CREDENTIALS_FILE: '/nowhere',
    AWS_EC2_METADATA_DISABLED: 'true',
  };
  const token = run(process.execPath, [programs.token, '--stack', 'PlantStore'], { ...nowhere, ...environment });
  const stderr = `The stack PlantStore cannot be read: ${sentence}\n`;
  expect(await token.ended).toEqual({ code: 1, stdout: '', stderr });
});

test.each<[what: string, outputs: Record<string, string>, token: unknown, sentence: string]>([
  [
    'the stack trusts another issuer',
    { ...outputs, Issuer: 'https://issuer.example' },
    {},
    'The stack PlantStore takes the tokens of https://issuer.example: get one there, with the scope plants/create.',
  ],
  ['the stack is another one', {}, {}, 'The stack PlantStore does not have the outputs of a Plant Store.'],
  ['the client is refused', outputs, { error: 'invalid_client' }, 'invalid_client'],
])('says so if %s', async (_, given, token, sentence) => {
  const { readToken } = await startAccount(given, token);
  const { code, stdout, stderr } = await readToken('PlantStore');
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toContain(sentence);
});

test('says so if the secret of the client cannot be read', async () => {
  const body = { __type: 'AccessDeniedException', message: 'not authorized' };
  const { readToken } = await startAccount(outputs, {}, 0, { status: 400, body });
  const stderr = 'The secret of the client client cannot be read: not authorized\n';
  expect(await readToken('PlantStore')).toEqual({ code: 1, stdout: '', stderr });
});

test('says so if the stack cannot be read', async () => {
  const environment = { AWS_REGION: 'x', AWS_ACCESS_KEY_ID: 'x', AWS_SECRET_ACCESS_KEY: 'x', AWS_MAX_ATTEMPTS: '1' };
  const nowhere = { ...environment, AWS_ENDPOINT_URL: 'http://127.0.0.1:9' };
  const { code, stderr } = await run(process.execPath, [programs.token, '--stack', 'Other'], nowhere).ended;
  const sentence = expect.stringMatching(/^The stack Other cannot be read: .*\n$/);
  expect({ code, stderr }).toEqual({ code: 1, stderr: sentence });
});
