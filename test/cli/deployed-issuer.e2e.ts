/**
 * Tests `npm run -s token -- --stack` against fake CloudFormation, Cognito and token endpoints.
 * deployed-stack.test.ts and deployed-issuer.test.ts test further cases.
 */
import { createServer } from 'node:http';
import { expect, test, vi } from 'vitest';
import { programs, run } from '../kit/local-service.ts';
import { startServer } from '../kit/servers.ts';

const outputs = { ClientId: 'machine', UserPoolId: 'eu-central-1_pool', Scope: 'plants/create' };

/**
 * Starts the fake endpoints. `secret` is Cognito's response with the client secret; `asked` lists all requests
 * received.
 */
const startAccount = async (
  secret: { status: number; body: object } = { status: 200, body: { UserPoolClient: { ClientSecret: 'shh' } } },
  // How many times the token endpoint responds with 404 before it works, like the endpoint of a new Cognito domain.
  notReady = 1,
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
      return response.end('{"access_token":"a.b.c"}');
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
    AWS_REGION: '',
    // Set only AWS_DEFAULT_REGION: `npm run token` must read that variable, as the AWS CLI does and the SDK does not.
    AWS_DEFAULT_REGION: 'eu-central-1',
    AWS_ACCESS_KEY_ID: 'test',
    AWS_SECRET_ACCESS_KEY: 'test',
    AWS_ENDPOINT_URL: url,
  };
  return { asked, regions, environment };
};

test("npm run token -- --stack prints only the token to stdout, and says on stderr that it waits for the issuer's new domain", async () => {
  const { asked, regions, environment } = await startAccount();
  // Run the command through npm, as docs/deploy.md tells users to.
  const { code, stdout, stderr } = await run('npm', ['run', '-s', 'token', '--', '--stack', 'PlantStore'], environment)
    .ended;
  expect({ code, stdout }).toEqual({ code: 0, stdout: 'a.b.c\n' });
  expect(stderr).toMatch(/^The token issuer at \S+ refused: 404\. .*up to a minute.*\n$/);
  const request = `/oauth2/token  Basic ${btoa('machine:shh')} grant_type=client_credentials&scope=plants%2Fcreate`;
  expect(asked).toEqual([
    expect.stringMatching(/^\/ {3}.*Action=DescribeStacks.*StackName=PlantStore/),
    expect.stringMatching(/DescribeUserPoolClient .*"ClientId":"machine"/),
    request,
    request,
  ]);
  expect([...regions]).toEqual(['eu-central-1']);
});

test('npm run token -- --stack --scope asks the issuer of the stack for the given scope', async () => {
  const { asked, environment } = await startAccount(undefined, 0);
  const args = [programs.token, '--stack', 'PlantStore', '--scope', 'plants/read'];
  expect(await run(process.execPath, args, environment).ended).toEqual({ code: 0, stdout: 'a.b.c\n', stderr: '' });
  expect(asked.at(-1)).toMatch(/ grant_type=client_credentials&scope=plants%2Fread$/);
});

const noRegion = 'no region is set; set AWS_REGION, for example AWS_REGION=eu-central-1';

test.each<[what: string, environment: Record<string, string>, sentence: string]>([
  ['no region', { AWS_ACCESS_KEY_ID: 'x', AWS_SECRET_ACCESS_KEY: 'x' }, noRegion],
  ['an empty region', { AWS_REGION: '', AWS_ACCESS_KEY_ID: 'x', AWS_SECRET_ACCESS_KEY: 'x' }, noRegion],
  [
    'no credentials',
    { AWS_REGION: 'eu-central-1' },
    'no AWS credentials were found; set AWS_PROFILE to a profile that has credentials, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY',
  ],
])(
  'npm run token -- --stack says which variable to set if the environment has %s',
  async (_, environment, sentence) => {
    for (const name of Object.keys(process.env)) if (name.startsWith('AWS_')) vi.stubEnv(name, undefined);
    const nowhere = {
      AWS_CONFIG_FILE: '/nowhere',
      AWS_SHARED_CREDENTIALS_FILE: '/nowhere',
      AWS_EC2_METADATA_DISABLED: 'true',
    };
    const token = run(process.execPath, [programs.token, '--stack', 'PlantStore'], { ...nowhere, ...environment });
    const stderr = `The stack PlantStore cannot be read: ${sentence}\n`;
    expect(await token.ended).toEqual({ code: 1, stdout: '', stderr });
  },
);

test('npm run token -- --stack gives the reason if the client secret cannot be read', async () => {
  const body = { __type: 'AccessDeniedException', message: 'not authorized' };
  const { environment } = await startAccount({ status: 400, body });
  const stderr = 'The secret of the client machine cannot be read: not authorized\n';
  const token = run(process.execPath, [programs.token, '--stack', 'PlantStore'], environment);
  expect(await token.ended).toEqual({ code: 1, stdout: '', stderr });
});

test('npm run token -- --stack gives the reason if the stack cannot be read', async () => {
  const environment = { AWS_REGION: 'x', AWS_ACCESS_KEY_ID: 'x', AWS_SECRET_ACCESS_KEY: 'x', AWS_MAX_ATTEMPTS: '1' };
  const nowhere = { ...environment, AWS_ENDPOINT_URL: 'http://127.0.0.1:9' };
  const { code, stderr } = await run(process.execPath, [programs.token, '--stack', 'Other'], nowhere).ended;
  const sentence = expect.stringMatching(/^The stack Other cannot be read: .*\n$/);
  expect({ code, stderr }).toEqual({ code: 1, stderr: sentence });
});
