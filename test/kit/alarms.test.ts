import { expect, inject, test } from 'vitest';
import { raisedAlarms, rollBackAlarms } from './alarms.ts';
import type { Happening, Occurrence } from './happenings.ts';
import { propertiesOf, resolve, type Template, withoutHashes } from './template.ts';

const template = withoutHashes(inject('template'));
/** The names of the functions that a client's request invokes. The first one is the authorizer. */
const functionNames = Object.values(propertiesOf('AWS::Lambda::Alias', template)).map(({ FunctionName }) =>
  resolve(FunctionName),
);
const [functionName = ''] = functionNames;

/**
 * Lets the same `occurrences`, such as responses and log lines, happen in every minute from `from` to the minute before
 * `to`.
 */
const each = (from: number, to: number, ...occurrences: Occurrence[]): Happening[] =>
  Array.from({ length: to - from }, (_, index) => from + index).flatMap((minute) =>
    occurrences.map((occurrence) => ({ minute, occurrence })),
  );

const response = (status: number, milliseconds = 20): Occurrence => ({ kind: 'response', status, milliseconds });
const invocation = (hasFailed: boolean, milliseconds = 20): Occurrence => ({
  kind: 'invocation',
  functionName,
  hasFailed,
  milliseconds,
});
const call = (error?: string, status = 400): Occurrence => ({ kind: 'call', operation: 'UpdateItem', error, status });
const times = <T>(count: number, what: T): T[] => Array<T>(count).fill(what);

test.each<[what: string, happened: Happening[], raised: string[]]>([
  ['nothing at all', [], []],
  ['1 % of responses with 5xx', each(0, 5, ...times(99, response(200)), response(503)), []],
  ['2 % of responses with 5xx in one minute', each(7, 8, ...times(49, response(200)), response(503)), ['Api5xxRate']],
  ['4xx only, for 14 minutes', each(0, 10, response(404)), []],
  ['4xx only, for 15 minutes', each(0, 15, response(404)), ['Api4xxRate']],
  [
    '4xx only, in the fifteen minutes from minute 3 on',
    [...each(0, 3, response(200)), ...each(3, 18, response(404))],
    ['Api4xxRate'],
  ],
  ['25 % of responses with 4xx', each(0, 30, ...times(3, response(200)), response(404)), []],
  ['1 slow response in 101', each(0, 20, ...times(100, response(200)), response(200, 9_000)), []],
  ['1 slow response in 99', each(0, 20, ...times(98, response(200)), response(200, 9_000)), ['ApiLatencyP99']],
  ['a failed invocation', each(3, 4, invocation(true)), [`${functionName}Errors`]],
  ['an invocation of exactly 80 % of the time-out', each(0, 1, invocation(false, 7_200)), []],
  ['a longer invocation', each(0, 1, invocation(false, 7_201)), [`${functionName}Duration`]],
  ['a throttle', each(0, 1, { kind: 'throttle', functionName }), [`${functionName}Throttles`]],
  ['many concurrent invocations', each(0, 1, { kind: 'concurrency', invocations: 801 }), ['Concurrency']],
  ['a throttled write, with no data for reads', each(0, 1, call('ThrottlingException')), ['TableThrottles']],
  ['an internal error of DynamoDB', each(0, 1, call('InternalServerError', 500)), ['TableSystemErrors']],
  [
    '20 % of writes with a failed condition',
    each(0, 30, ...times(4, call()), call('ConditionalCheckFailedException')),
    [],
  ],
  ['failed conditions only', each(0, 15, call('ConditionalCheckFailedException')), ['ConflictRate']],
  ['errors of DynamoDB that the table does not count', each(0, 30, call('AccessDeniedException')), []],
])('raisedAlarms finds exactly the alarms that should go off: %s', (_, happened, raised) => {
  expect(raisedAlarms(template, happened)).toEqual(raised);
});

test("a log line sets off a metric filter's alarm only if the line is in the log that the filter reads", () => {
  const line = { level: 'WARN', message: { outcome: 'keys not fetched' } };
  const raisedBy = functionNames.map((name) =>
    raisedAlarms(template, each(0, 1, { kind: 'line', functionName: name, line })),
  );
  expect(raisedBy.flat()).toEqual(['AuthorizerKeysNotFetched']);
});

test('rollBackAlarms returns the alarms that roll a function back, and throws if there are none', () => {
  const found = functionNames.map((name) => rollBackAlarms(template, name));
  expect(found).toEqual(functionNames.map((name) => found.flat().filter((alarm) => alarm.startsWith(name))));
  expect(() => rollBackAlarms(template, 'Other')).toThrow();
});

/** Returns the template with changed properties of ApiLatencyP99, the alarm for the API's latency. */
const changed = (change: object): Template => {
  const copy = structuredClone(template);
  const alarms = Object.values(propertiesOf('AWS::CloudWatch::Alarm', copy));
  Object.assign(alarms.find(({ AlarmName }) => AlarmName === 'PlantStore-ApiLatencyP99') ?? {}, change);
  return copy;
};

test.each([
  { DatapointsToAlarm: 1 },
  { TreatMissingData: 'breaching' },
  { ComparisonOperator: 'LessThanThreshold' },
  { ExtendedStatistic: 'tm99' },
  { Period: 90 },
  { MetricName: 'latency' },
  { Namespace: 'AWS/ApiGatewayV2' },
  { Dimensions: [] },
  { Metrics: [] },
  { Metrics: [{ Id: 'a', Expression: 'b + c' }] },
])('raisedAlarms throws if an alarm has an unsupported form, or a metric that never gets a value: %o', (change) => {
  expect(() => raisedAlarms(changed(change), [])).toThrow();
});
