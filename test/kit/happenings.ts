/**
 * Computes the metric values that CloudWatch gets when something happens in a stack, such as a response, an invocation
 * or a log line. alarms.ts needs these values to compute which alarms go off.
 */
import { logMetrics, metricName, type Value } from './log-metrics.ts';
import { propertiesOf, resolve, type Template } from './template.ts';

/**
 * One thing that a stack's metrics count, such as a response, an invocation or a log line. A Lambda function is named
 * by its logical id, as in the emulator.
 */
export type Occurrence =
  | { kind: 'response'; status: number; milliseconds: number }
  // An invocation of a function's alias. The invocation failed if the function threw, crashed or timed out.
  | { kind: 'invocation'; functionName: string; hasFailed: boolean; milliseconds: number }
  // Lambda refused to run another instance of the function.
  | { kind: 'throttle'; functionName: string }
  // The highest number of invocations that ran at the same time in the whole account.
  | { kind: 'concurrency'; invocations: number }
  // What a function logged, in Lambda's JSON format.
  | { kind: 'line'; functionName: string; line: { level: string; message: unknown } }
  // A call that reached DynamoDB. Without `error`, the call succeeded.
  | { kind: 'call'; operation: string; status: number; error: string | undefined };

/** An occurrence, such as a response, and the minute in which it happens. Time is virtual and begins with minute 0. */
export type Happening = { minute: number; occurrence: Occurrence };

/**
 * Returns a function that takes one occurrence, such as a response or a log line, and lists the metric values that it
 * causes. The function omits a metric that AWS may omit instead of sending 0, because missing data are the harder case
 * for an alarm.
 * @throws Error unless the template has exactly one API and one table, and only metric filters that can be computed
 * here
 */
export const metricsOf = (template: Template): ((occurrence: Occurrence) => Value[]) => {
  const api = { ApiId: onlyOne('AWS::ApiGatewayV2::Api', template) };
  const table = { TableName: onlyOne('AWS::DynamoDB::GlobalTable', template) };
  const ofLine = logMetrics(template);
  return (occurrence) => {
    switch (occurrence.kind) {
      case 'response':
        return ofResponse(occurrence).map(([name, value]) => [metricName('AWS/ApiGateway', name, api), value]);
      case 'invocation':
      case 'throttle': {
        const { functionName } = occurrence;
        const alias = { FunctionName: functionName, Resource: `${functionName}:${aliasOf(functionName, template)}` };
        return ofFunction(occurrence).map(([name, value]) => [metricName('AWS/Lambda', name, alias), value]);
      }
      case 'concurrency':
        return [[metricName('AWS/Lambda', 'ConcurrentExecutions'), occurrence.invocations]];
      case 'line':
        return ofLine(occurrence.functionName, occurrence.line);
      case 'call':
        return ofCall(occurrence).map(([name, value, more]) => [
          metricName('AWS/DynamoDB', name, { ...table, ...more }),
          value,
        ]);
    }
  };
};

/** The metrics of an HTTP API: https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-metrics.html */
const ofResponse = ({ status, milliseconds }: { status: number; milliseconds: number }): Value[] => [
  ['Count', 1],
  ['Latency', milliseconds],
  ...(status >= 400 ? [[status >= 500 ? '5xx' : '4xx', 1] satisfies Value] : []),
];

/**
 * The metrics that Lambda reports for a function:
 * https://docs.aws.amazon.com/lambda/latest/dg/monitoring-metrics-types.html
 */
const ofFunction = (occurrence: Occurrence & { kind: 'invocation' | 'throttle' }): Value[] =>
  occurrence.kind === 'throttle'
    ? [['Throttles', 1]]
    : [
        ['Invocations', 1],
        ['Errors', Number(occurrence.hasFailed)],
        ['Duration', occurrence.milliseconds],
      ];

const throttling = /^(?:Throttling|ProvisionedThroughputExceeded|RequestLimitExceeded)/;
const reading = /^(?:BatchGet|TransactGet|Get|Query|Scan)/;

/**
 * Returns what DynamoDB adds to its metrics after a call:
 * https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/metrics-dimensions.html
 */
const ofCall = ({ operation, status, error }: Occurrence & { kind: 'call' }): [...Value, dimensions?: object][] => {
  if (error === undefined) return [['SuccessfulRequestLatency', 5, { Operation: operation }]];
  if (error === 'ConditionalCheckFailedException') return [['ConditionalCheckFailedRequests', 1]];
  if (throttling.test(error)) return [[reading.test(operation) ? 'ReadThrottleEvents' : 'WriteThrottleEvents', 1]];
  // As AWS documents, SystemErrors counts only responses with status 500. Errors that this function does not name are
  // left out, because no alarm watches a metric that counts them.
  return status === 500 ? [['SystemErrors', 1, { Operation: operation }]] : [];
};

const onlyOne = (type: string, template: Template): string => {
  const [name, ...others] = Object.keys(propertiesOf(type, template));
  if (name === undefined || others.length > 0) throw new Error(`The template must have exactly one ${type}.`);
  return name;
};

const aliasOf = (functionName: string, template: Template): string => {
  const aliases = Object.values(propertiesOf('AWS::Lambda::Alias', template));
  const alias = aliases.find(({ FunctionName }) => resolve(FunctionName) === functionName);
  if (alias === undefined) throw new Error(`The function ${functionName} has no alias.`);
  return String(alias['Name']);
};
