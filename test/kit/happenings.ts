/** The metrics that CloudWatch gets from what happens to a stack, for the rehearsal of its alarms. */
import { logMetrics, metricName, type Value } from './log-metrics.ts';
import { propertiesOf, resolve, type Template } from './template.ts';

/**
 * What may happen to a stack. Times are in milliseconds. Functions have their logical ids as names, as in the emulator.
 * `invocation` is of a function's alias; it failed if the function threw, crashed or timed out. `throttle`: Lambda
 * refused to run another instance. `concurrency`: the most invocations at one time in the account. `line`: what a
 * function logged in Lambda's JSON format. `call` reached DynamoDB; its `error` is undefined if it succeeded.
 */
export type Occurrence =
  | { kind: 'response'; status: number; milliseconds: number }
  | { kind: 'invocation'; functionName: string; hasFailed: boolean; milliseconds: number }
  | { kind: 'throttle'; functionName: string }
  | { kind: 'concurrency'; invocations: number }
  | { kind: 'line'; functionName: string; line: { level: string; message: unknown } }
  | { kind: 'call'; operation: string; status: number; error: string | undefined };

/** An occurrence in one minute of a virtual time, which starts with minute 0. */
export type Happening = { minute: number; occurrence: Occurrence };

/**
 * Returns a function that tells which values an occurrence adds to which metrics. Leaves out a metric that AWS may
 * leave out if it would be 0, which is the harder case for an alarm.
 * @throws Error if the template has several APIs or tables, or a metric filter that cannot be evaluated
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

/** The metrics of a function: https://docs.aws.amazon.com/lambda/latest/dg/monitoring-metrics-types.html */
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

/** The metrics of a call: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/metrics-dimensions.html */
const ofCall = ({ operation, status, error }: Occurrence & { kind: 'call' }): [...Value, dimensions?: object][] => {
  if (error === undefined) return [['SuccessfulRequestLatency', 5, { Operation: operation }]];
  if (error === 'ConditionalCheckFailedException') return [['ConditionalCheckFailedRequests', 1]];
  if (throttling.test(error)) return [[reading.test(operation) ? 'ReadThrottleEvents' : 'WriteThrottleEvents', 1]];
  // AWS documents that SystemErrors counts only responses with status 500. Other errors add to no metric of the table.
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
