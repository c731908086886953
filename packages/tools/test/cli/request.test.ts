/** Tests what `request` finds and prints; start.test.ts lets it find requests to a local service. */

import { startAccount } from '@lambda-service/testing/fake-aws';
import { testFolder } from '@lambda-service/testing/programs';
import { answer, startScriptedService } from '@lambda-service/testing/servers';
import { until } from '@lambda-service/testing/waiting';
import { describe, expect, inject, onTestFinished, test, vi } from 'vitest';
import { describeDeployed, describeLocal } from '../../cli/traced-request.ts';
import { writeSession } from '../../start/session.ts';
import { runHere } from './kit/run-here.ts';

/** Writes a session file, so that the commands treat the service at `url` as the running local service. */
const makeLocal = async (url: string): Promise<void> => {
  const folder = await testFolder();
  const unused = { tokenUrl: 'x', clientId: 'x', clientSecret: 'x', scope: 'x', certificate: 'x' };
  writeSession(folder, { url, ...unused });
  vi.stubEnv('DATA_DIR', folder);
};

test('request says, for the id of a request that the local service does not know, how many requests it keeps', async () => {
  await makeLocal((await startScriptedService(answer(200, []))).baseUrl);
  await expect(describeLocal('QcNvjVNaC1t4m14=')).rejects.toThrow(/no request QcNvjVNaC1t4m14=.*latest 1,000/);
});

test('request says that the local service was probably killed if it does not answer', async () => {
  await makeLocal('http://127.0.0.1:9');
  await expect(describeLocal('x')).rejects.toThrow(/does not answer; it was probably killed/);
});

const stackName = inject('stackName');
const id = 'JKJaXmPLvHcESHA=';
const [authorizing, creating] = ['5b7e1f0a-0000-4000-8000-000000000001', '5b7e1f0a-0000-4000-8000-000000000002'];

const logGroups = {
  ApiAccessLog713001CC: 'PlantStore-ApiAccessLog713001CC-a1',
  AuthorizerLogsBA5DABC9: 'PlantStore-AuthorizerLogsBA5DABC9-b2',
  CreatePlantLogsFFC6C4E0: 'PlantStore-CreatePlantLogsFFC6C4E0-c3',
};

/** A log line in the form in which a query of CloudWatch Logs Insights returns it. */
const row = (group: keyof typeof logGroups, line: object) => [
  { field: '@log', value: `123456789012:${logGroups[group]}` },
  { field: '@message', value: JSON.stringify(line) },
];

const access = row('ApiAccessLog713001CC', {
  ...{ requestId: id, time: '26/Nov/2026:16:05:09 +0000' },
  ...{ method: 'POST', route: 'POST /plants', status: '500', latency: '5021' },
  ...{ integrationStatus: '200', integrationRequestId: creating, integrationError: 'the function timed out' },
  ...{ authorizerError: '-', gatewayError: 'Internal Server Error' },
});
const allowed = row('AuthorizerLogsBA5DABC9', {
  ...{ level: 'INFO', requestId: authorizing },
  message: { outcome: 'allowed', gatewayRequestId: id },
});
const report = row('CreatePlantLogsFFC6C4E0', {
  type: 'platform.report',
  record: { requestId: creating, status: 'timeout', metrics: { durationMs: 5000 } },
});

/** Starts an account whose logs give `results`: the rows for the first query, the second and so on. */
const startLogs = async (results: object[][], groups: Record<string, string> = logGroups) => {
  const { calls, environment } = await startAccount(
    { logGroups: groups },
    (operation, { queryId }: { queryId: string }) => {
      const started = calls.filter((each) => each.operation === 'StartQuery').length;
      if (operation === 'StartQuery') return { body: { queryId: String(started) } };
      return { body: { status: 'Complete', results: results[Number(queryId) - 1] ?? [] } };
    },
  );
  const queries = () => calls.flatMap(({ operation, input }) => (operation === 'StartQuery' ? [input] : []));
  return { queries, environment };
};

test("request --stack prints a request and all log lines about it, even lines that have only Lambda's own request id", async () => {
  const { queries, environment } = await startLogs([
    [access, allowed],
    [access, allowed, report],
  ]);
  expect(await runHere(['request', id, '--stack', stackName, '--days', '7'], environment).ended).toEqual({
    code: 0,
    stdout: [
      `26/Nov/2026:16:05:09 +0000 POST /plants 500 5021 ms ${id} the function timed out`,
      '    Authorizer INFO {"outcome":"allowed"}',
      `    CreatePlant platform.report {"requestId":"${creating}","status":"timeout","metrics":{"durationMs":5000}}`,
      '',
    ].join('\n'),
    stderr: '',
  });
  const days = queries().map(({ startTime, endTime }) => (Number(endTime) - Number(startTime)) / 86_400);
  expect(days).toEqual([7, 7]);
  const of = (filter: string) => ({
    logGroupNames: Object.values(logGroups),
    queryString: `fields @log, @message | filter ${filter} | sort @timestamp asc | limit 100`,
  });
  const both = `["${creating}","${authorizing}"]`;
  const withId = `requestId = "${id}" or message.gatewayRequestId = "${id}"`;
  const failed = `record.requestId in ${both} and record.status in ["error","failure","timeout"]`;
  expect(queries()).toMatchObject([of(withId), of(`${withId} or requestId in ${both} or (${failed})`)]);
});

test('request refuses a request id that could change the query', async () => {
  const { code, stderr } = await runHere(['request', 'a"b']).ended;
  const sentence = 'It must be the header apigw-requestid of a response.';
  expect([code, stderr]).toEqual([1, expect.stringContaining(sentence)]);
});

describe('in the logs of a deployed stack, a search for a request', () => {
  const find = (environment: Record<string, string>, stack = stackName) => {
    for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value);
    return describeDeployed(id, stack, 1);
  };

  test('needs one query if the gateway called no function', async () => {
    const refused = row('ApiAccessLog713001CC', {
      ...{ requestId: id, time: 'then', method: 'POST', route: 'POST /plants', status: '401', latency: '2' },
      ...{ integrationRequestId: '-', integrationError: '-', authorizerError: '-', gatewayError: 'Unauthorized' },
    });
    const { queries, environment } = await startLogs([[refused]]);
    expect(await find(environment)).toBe(`then POST /plants 401 2 ms ${id} no Authorization header`);
    expect(queries()).toHaveLength(1);
  });

  test("finds the functions' lines even if the access log does not have the request yet", async () => {
    const { environment } = await startLogs([[allowed], [allowed]]);
    expect(await find(environment)).toBe(
      `- - - 0 0 ms ${id} the access log does not have the request yet\n    Authorizer INFO {"outcome":"allowed"}`,
    );
  });

  const own = inject('stack').functions.find(({ name }) => name.startsWith('Authorizer'))?.environment['BUNDLE_SHA256'];

  test('shows the stack traces of the bundles that the sources make in source lines, and says why not those of others', async () => {
    const stack = 'Error: oops\n    at start (/var/task/index.js:1:2000)';
    const failed = [own, '0'.repeat(64)].map((bundle) => {
      const message = { outcome: 'failed', cause: { name: 'Error', stack }, bundle, gatewayRequestId: id };
      return row('CreatePlantLogsFFC6C4E0', { level: 'ERROR', requestId: creating, message });
    });
    const { environment } = await startLogs([
      [access, ...failed],
      [access, ...failed],
    ]);
    const [first, ...texts] = (await find(environment)).split('\n    CreatePlant ERROR ');
    expect(first).toMatch(/ oops; oops; the function timed out$/);
    expect(texts).toEqual([
      expect.stringMatching(/\n {4}Error: oops\n {8}at start \((?!\/)\S+\.[jt]s:\d+:\d+\)$/),
      expect.stringMatching(
        /\/var\/task\/index\.js:1:2000\)\n {4}The bundle 0{64} ran, but .*\n {4}Check out the commit/,
      ),
    ]);
  });

  test('says that lines may arrive later if there are none, or what is wrong with the stack', async () => {
    const none = `The logs of the stack ${stackName} have no request ${id} in the last day. Lines arrive some seconds`;
    await expect(find((await startLogs([])).environment)).rejects.toThrow(none);
    const noLogs = await startLogs([], {});
    await expect(find(noLogs.environment)).rejects.toThrow('does not have the logs of a service.');
    const unknown = 'The stack Other cannot be read: Stack with id Other does not exist';
    await expect(find(noLogs.environment, 'Other')).rejects.toThrow(new Error(unknown));
  });

  test('waits for a query that is running, and gives the reason if it fails', async () => {
    const statuses = ['started', 'Running', 'Failed'];
    const reply = () => ({ body: { queryId: '1', status: statuses.shift() } });
    const { environment } = await startAccount({ logGroups }, reply);
    // Do not wait half a second for the query.
    vi.useFakeTimers({ toFake: ['setTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const message = 'The logs cannot be searched: the query ended with the status';
    const failing = expect(find(environment)).rejects.toThrow(message);
    await until(() => {
      vi.runOnlyPendingTimers();
      return statuses.length === 0;
    });
    await failing;
  });
});
