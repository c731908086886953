/** Finds what the logs say about one request to the running local service or to a deployed stack, and formats it. */
import { STATUS_CODES } from 'node:http';
import { CloudWatchLogs, type ResultField } from '@aws-sdk/client-cloudwatch-logs';
import { type AccessLogLine, type LogLine, linesBelow, messageOf, row } from 'http-api-emulator/request-log';
import { hasPlaces, inSources, prebuildBundles } from '../start/bundles.ts';
import { logFormat } from '../start/log-format.ts';
import { readSession } from '../start/session.ts';
import { dataFolder } from '../start/settings.ts';
import { listResources, orExplain } from './aws.ts';

/**
 * Describes a request to the running local service: its row, and below it what the functions logged.
 * @throws Error with a one-sentence message for the user if no service runs, or if the service does not know the
 *   request
 */
export const describeLocal = async (id: string): Promise<string> => {
  const { url } = readSession(dataFolder());
  const response = await fetch(`${url}/docs/requests.json`).catch((cause: unknown) => {
    throw new Error(`The local service at ${url} does not answer; it was probably killed. Start it: npm start`, {
      cause,
    });
  });
  const all = (await response.json()) as AccessLogLine[];
  const logged = all.find(({ requestId }) => requestId === id);
  if (logged === undefined) {
    throw new Error(
      `The local service at ${url} has no request ${id}. It keeps its latest 1,000 requests until it stops; for a deployment, add --stack <name>.`,
    );
  }
  return [row(logged, logFormat), ...linesBelow(logged.log, logFormat)].join('\n');
};

/** Describes a request to a deployed stack, as `describeLocal` does. Translates stack traces of this folder's bundles. */
export const describeDeployed = async (id: string, stack: string, days: number): Promise<string> => {
  const logged = await findDeployedRequest(id, stack, days);
  if (hasPlaces(JSON.stringify(logged.log))) await prebuildBundles();
  const translate = (trace: string, sha256?: string): string => {
    try {
      return inSources(trace, sha256);
    } catch (error) {
      return `${trace}\n${messageOf(error)}`;
    }
  };
  return [row(logged, logFormat), ...linesBelow(logged.log, logFormat, { translate })].join('\n');
};

/**
 * A line from the access log, from a function (has `message`), or from Lambda about an invocation (has `record`). `who`
 * is the function whose log has the line, or undefined for the access log.
 */
type Line = Record<string, unknown> &
  Pick<LogLine, 'errorType' | 'errorMessage' | 'stackTrace'> & {
    who: string | undefined;
    requestId?: string;
    integrationRequestId?: string;
  };

/**
 * Finds a request in a deployed stack's logs with two queries of CloudWatch Logs Insights. The first finds lines with
 * the gateway's request id; the second adds lines of the same invocations that have only Lambda's id.
 * @param days how many days back to search; AWS charges for the amount of data that a query scans
 */
const findDeployedRequest = async (id: string, stack: string, days: number): Promise<AccessLogLine> => {
  const logs = await readLogGroups(stack);
  const query = (filter: string) => runQuery(logs, filter, days);
  const withId = `requestId = "${id}" or message.gatewayRequestId = "${id}"`;
  const ofGateway = await query(withId);
  if (ofGateway.length === 0) {
    throw new Error(
      `The logs of the stack ${stack} have no request ${id} in the last ${days === 1 ? 'day' : `${days} days`}. Lines arrive some seconds after a request: try again, or search further back with --days.`,
    );
  }
  const invocations = ofGateway.map((line) => (line.who === undefined ? line.integrationRequestId : line.requestId));
  const ids = JSON.stringify([...new Set(invocations)].filter((each) => /^[\da-f-]{36}$/.test(each ?? '')));
  const failed = `record.requestId in ${ids} and record.status in ["error","failure","timeout"]`;
  const all = ids === '[]' ? ofGateway : await query(`${withId} or requestId in ${ids} or (${failed})`);
  const access = ofGateway.find(({ who }) => who === undefined);
  return {
    requestId: id,
    ...(access ? summaryOf(access) : notYet),
    // A line from Lambda has `type` and `record` instead of `level` and `message`.
    log: all.flatMap(({ who, level, message, type = level, record = message, ...line }) =>
      who === undefined ? [] : [{ ...line, functionName: who, level: String(type), message: record }],
    ),
  };
};

const summaryOf = ({ time, method, route, status, latency, ...line }: Line) => {
  // `-` stands for a variable without a value. An error such as Forbidden for a 403 says nothing.
  const none: unknown[] = [undefined, '-', STATUS_CODES[Number(status)]];
  const errors = [line['authorizerError'], line['integrationError'], line['gatewayError']];
  const error = errors.filter((each) => !none.includes(each)).join('; ');
  return {
    time: String(time),
    method: String(method),
    // The route is a method and a path, or `-` if the API has no route for the request.
    path: String(route).replace(/^\S+ /, ''),
    status: Number(status),
    milliseconds: Number(latency),
    ...(error && { error }),
  };
};

/** The functions' lines may arrive before that of the access log. */
const notYet = {
  ...{ time: '-', method: '-', path: '-', status: 0, milliseconds: 0 },
  error: 'the access log does not have the request yet',
};

/** Lists a stack's log groups, each with the function that writes to it, or with undefined for the access log. */
const readLogGroups = async (stack: string): Promise<Map<string, string | undefined>> => {
  const resources = await listResources(stack);
  const groups = resources.filter(({ ResourceType }) => ResourceType === 'AWS::Logs::LogGroup');
  if (groups.length === 0) throw new Error(`The stack ${stack} does not have the logs of a service.`);
  const functionOf = (id = ''): string | undefined => /^(.+)Logs[0-9A-F]{8}$/.exec(id)?.[1];
  return new Map(groups.map((each) => [each.PhysicalResourceId ?? '', functionOf(each.LogicalResourceId)]));
};

const runQuery = (groups: Map<string, string | undefined>, filter: string, days: number): Promise<Line[]> =>
  orExplain('The logs cannot be searched', async () => {
    const client = new CloudWatchLogs();
    const now = Math.ceil(Date.now() / 1000);
    const { queryId } = await client.startQuery({
      logGroupNames: [...groups.keys()],
      startTime: now - days * 24 * 60 * 60,
      endTime: now,
      queryString: `fields @log, @message | filter ${filter} | sort @timestamp asc | limit 100`,
    });
    for (;;) {
      const { status, results = [] } = await client.getQueryResults({ queryId });
      if (status === 'Complete') return results.map((row) => lineIn(row, groups));
      if (status !== 'Running' && status !== 'Scheduled') throw new Error(`the query ended with the status ${status}`);
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
  });

const lineIn = (row: ResultField[], groups: Map<string, string | undefined>): Line => {
  const values = Object.fromEntries(row.map(({ field, value }) => [field, value]));
  const { '@log': log = '', '@message': message = '{}' } = values;
  // The field @log has the account id, a colon and the name of the log group.
  return { ...JSON.parse(message), who: groups.get(log.slice(log.indexOf(':') + 1)) };
};
