/** Tests `npm run request -- --stack` against fake CloudFormation and CloudWatch Logs endpoints. */
import { createServer } from 'node:http';
import { expect, test, vi } from 'vitest';
import { programs, run } from '../kit/local-service.ts';
import { startServer } from '../kit/servers.ts';

const id = 'JKJaXmPLvHcESHA=';
const [authorizing, creating] = ['5b7e1f0a-0000-4000-8000-000000000001', '5b7e1f0a-0000-4000-8000-000000000002'];

const groups = {
  ApiAccessLog713001CC: 'PlantStore-ApiAccessLog713001CC-a1',
  AuthorizerLogsBA5DABC9: 'PlantStore-AuthorizerLogsBA5DABC9-b2',
  CreatePlantLogsFFC6C4E0: 'PlantStore-CreatePlantLogsFFC6C4E0-c3',
};
type Group = keyof typeof groups;

/** A log line in the form in which a query of CloudWatch Logs Insights returns it. */
const row = (group: Group, line: object) => [
  { field: '@log', value: `123456789012:${groups[group]}` },
  { field: '@message', value: JSON.stringify(line) },
  { field: '@ptr', value: 'x' },
];

const access = row('ApiAccessLog713001CC', {
  ...{ requestId: id, method: 'POST', route: 'POST /plants', status: '500', latency: '5021' },
  ...{ integrationStatus: '200', integrationRequestId: creating, integrationError: 'the function timed out' },
  ...{ authorizerError: '-', gatewayError: 'Internal Server Error' },
});
const allowed = row('AuthorizerLogsBA5DABC9', {
  ...{ timestamp: '2026-11-21T10:00:00.000Z', level: 'INFO', requestId: authorizing },
  message: { outcome: 'allowed', gatewayRequestId: id },
});
const report = row('CreatePlantLogsFFC6C4E0', {
  ...{ time: '2026-11-21T10:00:05.000Z', type: 'platform.report' },
  record: { requestId: creating, status: 'timeout', metrics: { durationMs: 5000 } },
});

type Query = { logGroupNames: string[]; queryString: string; startTime: number; endTime: number };

/**
 * Starts fake endpoints of AWS. `results` lists the rows for the first query of the logs, the second and so on;
 * `failure`, if set, is the response to every query instead.
 */
const startAccount = async (results: object[][], failure?: { status: number; body: object }) => {
  const queries: Query[] = [];
  let polls = 0;
  const server = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray()).toString();
    const target = String(request.headers['x-amz-target'] ?? '');
    if (target === '') {
      const page = new URLSearchParams(body).get('NextToken') === null ? 0 : 1;
      const resources = Object.entries(groups).map(([name, physical]) => ['AWS::Logs::LogGroup', name, physical]);
      const pages = [
        [['AWS::IAM::Role', 'AuthorizerLogs00000000', 'role'], ...resources.slice(0, 1)],
        resources.slice(1),
      ];
      const members = pages[page]?.map(
        ([type, name, physical]) =>
          `<member><ResourceType>${type}</ResourceType><LogicalResourceId>${name}</LogicalResourceId><PhysicalResourceId>${physical}</PhysicalResourceId></member>`,
      );
      const next = page === 0 ? '<NextToken>more</NextToken>' : '';
      return response.end(
        `<ListStackResourcesResponse><ListStackResourcesResult>${next}<StackResourceSummaries>${members?.join('')}</StackResourceSummaries></ListStackResourcesResult></ListStackResourcesResponse>`,
      );
    }
    response.setHeader('content-type', 'application/x-amz-json-1.1');
    if (failure) return response.writeHead(failure.status).end(JSON.stringify(failure.body));
    if (target.endsWith('.StartQuery')) {
      queries.push(JSON.parse(body));
      return response.end(JSON.stringify({ queryId: String(queries.length) }));
    }
    polls += 1;
    if (polls === 1) return response.end(JSON.stringify({ status: 'Running', results: [] }));
    const { queryId } = JSON.parse(body) as { queryId: string };
    return response.end(JSON.stringify({ status: 'Complete', results: results[Number(queryId) - 1] ?? [] }));
  });
  const AWS_ENDPOINT_URL = `http://127.0.0.1:${await startServer(server)}`;
  const environment = {
    ...{ AWS_REGION: 'eu-central-1', AWS_ACCESS_KEY_ID: 'test', AWS_SECRET_ACCESS_KEY: 'test' },
    AWS_ENDPOINT_URL,
  };
  return { queries, environment };
};

const requestOf = (args: string[], environment: Record<string, string>) =>
  run(process.execPath, [programs.request, ...args], environment).ended;

test("npm run request -- --stack prints a request and all log lines about it, even lines that have only Lambda's own request id", async () => {
  const { queries, environment } = await startAccount([
    [access, allowed],
    [access, allowed, report],
  ]);
  const args = ['run', '-s', 'request', '--', id, '--stack', 'PlantStore', '--days', '7'];
  expect(await run('npm', args, environment).ended).toEqual({
    code: 0,
    stdout: [
      'POST /plants 500 5021 ms',
      `Authorizer INFO {"outcome":"allowed","gatewayRequestId":"${id}"}`,
      `CreatePlant platform.report {"requestId":"${creating}","status":"timeout","metrics":{"durationMs":5000}}`,
      'Gateway: the function timed out',
      'Gateway: Internal Server Error',
      '',
    ].join('\n'),
    stderr: '',
  });
  const days = queries.map(({ startTime, endTime }) => (endTime - startTime) / 86_400);
  expect(days).toEqual([7, 7]);
  const of = (filter: string) => ({
    logGroupNames: Object.values(groups),
    queryString: `fields @log, @message | filter ${filter} | sort @timestamp asc | limit 100`,
  });
  const both = `["${creating}","${authorizing}"]`;
  const withId = `requestId = "${id}" or message.gatewayRequestId = "${id}"`;
  const failed = `record.requestId in ${both} and record.status in ["error","failure","timeout"]`;
  expect(queries).toMatchObject([of(withId), of(`${withId} or requestId in ${both} or (${failed})`)]);
});

test('npm run request -- --stack shows a past request for which the gateway called no function, and says why it called none', async () => {
  const refused = row('ApiAccessLog713001CC', {
    ...{ requestId: id, method: 'POST', route: 'POST /plants', status: '401', latency: '2' },
    ...{ integrationRequestId: '-', integrationError: '-', authorizerError: '-', gatewayError: 'Unauthorized' },
  });
  const { queries, environment } = await startAccount([[refused]]);
  const { stdout } = await requestOf([id, '--stack', 'PlantStore'], environment);
  expect(stdout).toBe(
    'POST /plants 401 2 ms\nGateway: Unauthorized\nGateway: the request has no Authorization header\n',
  );
  expect(queries).toHaveLength(1);
});

test("npm run request -- --stack prints the functions' log lines even if the access log does not have the request yet", async () => {
  const { environment } = await startAccount([[allowed], [allowed]]);
  const { stdout } = await requestOf([id, '--stack', 'PlantStore'], environment);
  expect(stdout).toMatch(/^The access log has no line of this request yet\.\nAuthorizer INFO .*\n$/);
});

test('if npm run request -- --stack finds no log lines about the request, it says that they may arrive later', async () => {
  const { environment } = await startAccount([]);
  const sentence = `The logs of the stack PlantStore have no request ${id} in the last day. Lines arrive some seconds after a request: try again, or search further back with --days.\n`;
  expect(await requestOf([id, '--stack', 'PlantStore'], environment)).toEqual({
    code: 1,
    stdout: '',
    stderr: sentence,
  });
});

test.each<[what: string, failure: { status: number; body: object }, sentence: string]>([
  [
    'the logs may not be read',
    { status: 400, body: { __type: 'AccessDeniedException', message: 'not authorized' } },
    'The logs cannot be searched: not authorized\n',
  ],
  [
    'the query fails',
    { status: 200, body: { queryId: '1', status: 'Failed' } },
    'The logs cannot be searched: the query ended with the status Failed\n',
  ],
])('npm run request -- --stack reports, in one sentence, that %s', async (_, failure, stderr) => {
  const { environment } = await startAccount([], failure);
  expect(await requestOf([id, '--stack', 'PlantStore'], environment)).toEqual({ code: 1, stdout: '', stderr });
});

test('npm run request -- --stack says which environment variables to set if AWS credentials are missing', async () => {
  for (const name of Object.keys(process.env)) if (name.startsWith('AWS_')) vi.stubEnv(name, undefined);
  const nowhere = { AWS_CONFIG_FILE: '/nowhere', AWS_SHARED_CREDENTIALS_FILE: '/nowhere' };
  const environment = { ...nowhere, AWS_EC2_METADATA_DISABLED: 'true', AWS_REGION: 'eu-central-1' };
  const { code, stderr } = await requestOf([id, '--stack', 'PlantStore'], environment);
  const sentence = expect.stringMatching(
    /^The stack PlantStore cannot be read: no AWS credentials were found; set .*\n$/,
  );
  expect([code, stderr]).toEqual([1, sentence]);
});

test('npm run request -- --stack reports an unknown stack with the reason that AWS gives', async () => {
  const server = createServer((_, response) =>
    response
      .writeHead(400)
      .end(
        '<ErrorResponse><Error><Code>ValidationError</Code><Message>Stack with id Other does not exist</Message></Error></ErrorResponse>',
      ),
  );
  const { environment } = await startAccount([]);
  const AWS_ENDPOINT_URL = `http://127.0.0.1:${await startServer(server)}`;
  expect(await requestOf([id, '--stack', 'Other'], { ...environment, AWS_ENDPOINT_URL })).toEqual({
    code: 1,
    stdout: '',
    stderr: 'The stack Other cannot be read: Stack with id Other does not exist\n',
  });
});

test.each([['no id'], ['a"b'], ['a b']])('npm run request refuses %j as a request id', async (text) => {
  const { code, stderr } = await requestOf([text], {});
  expect([code, stderr]).toEqual([
    1,
    expect.stringContaining('The id must be the value of the header apigw-requestid of a response.'),
  ]);
});
