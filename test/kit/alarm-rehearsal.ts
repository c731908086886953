/** Records what happens in a trial stack, so that alarms.ts can find out which of the stack's alarms would go off. */
import { inject } from 'vitest';
import type { FaultyStore } from './faulty-store.ts';
import type { Happening, Occurrence } from './happenings.ts';
import { metricFilters } from './log-metrics.ts';
import type { Template } from './template.ts';
import type { Invocation, TrialStack } from './trial-stack.ts';

/** The assumed duration of an ordinary invocation, in milliseconds. */
const usual = 20;

/**
 * Lets the same `occurrences`, such as responses and log lines, happen in every minute from `from` to the minute before
 * `to`.
 */
export const eachMinute = (from: number, to: number, occurrences: readonly Occurrence[]): Happening[] =>
  Array.from({ length: to - from }, (_, index) => from + index).flatMap((minute) =>
    occurrences.map((occurrence) => ({ minute, occurrence })),
  );

/**
 * Calls `request`, which sends one request, and returns the occurrences that this request caused, such as a response,
 * invocations and log lines. Durations are assumed, not measured, so that a busy machine raises no alarm.
 * @param times for each function, the assumed milliseconds of its invocation; for an invocation that timed out, the
 * deployed time-out of the function is used instead
 * @throws Error unless the gateway handled exactly one request meanwhile
 */
export const record = async (
  stack: TrialStack,
  store: FaultyStore,
  request: () => Promise<unknown>,
  times: Record<string, number> = {},
): Promise<Occurrence[]> => {
  const before = [stack.log.length, stack.invocations.length, store.performed.length] as const;
  await request();
  const [entry, ...others] = stack.log.slice(before[0]);
  if (entry === undefined || others.length > 0) throw new Error(`The gateway handled ${others.length} more requests.`);
  const invoked = stack.invocations.slice(before[1]).map(({ functionName, outcome }) => ({
    functionName,
    hasFailed: 'failure' in outcome,
    milliseconds: hasTimedOut(outcome) ? deployedTimeout(functionName) : (times[functionName] ?? usual),
    lines: outcome.log,
  }));
  const latency = invoked.reduce((sum, each) => sum + each.milliseconds, 0);
  return [
    { kind: 'response', status: entry.status, milliseconds: latency },
    ...invoked.map(({ lines: _, ...invocation }) => ({ kind: 'invocation', ...invocation }) as const),
    ...invoked.flatMap(({ lines }) =>
      lines.map(({ functionName, ...line }) => ({ kind: 'line', functionName, line }) as const),
    ),
    ...store.performed.slice(before[2]).map((call) => ({ kind: 'call', ...call }) as const),
  ];
};

const hasTimedOut = (outcome: Invocation['outcome']): boolean =>
  'failure' in outcome && outcome.failure.startsWith('Task timed out');

const deployedTimeout = (functionName: string): number =>
  inject('stack').functions.find(({ name }) => name === functionName)?.timeout ?? 0;

/** A metric filter's pattern, lines of its function's log, and the numbers (from 1) of the lines that must match. */
export type FilterCheck = { pattern: string; lines: string[]; matching: number[] };

/**
 * For each metric filter whose log is not empty, returns the lines of the log and which of them match. If lines differ
 * only in what `withoutFigures` omits or replaces, such as numbers, returns only one of them.
 */
export const filterChecks = (template: object, occurrences: readonly Occurrence[]): FilterCheck[] =>
  metricFilters(template as Template).flatMap(({ functionName, pattern, matches }) => {
    const logged = occurrences.flatMap((each) =>
      each.kind === 'line' && each.functionName === functionName ? [each.line] : [],
    );
    const kinds = new Map(logged.map((line) => [JSON.stringify(line, withoutFigures), line]));
    const lines = [...kinds.values()].map((line) => JSON.stringify(line, withoutDetails));
    const matching = lines.flatMap((line, index) => (matches(JSON.parse(line)) ? [index + 1] : []));
    return lines.length > 0 ? [{ pattern, lines, matching }] : [];
  });

/** A JSON.stringify replacer that omits details that are long or differ in each run. No metric filter reads them. */
const withoutDetails = (key: string, value: unknown): unknown =>
  /^(?:bundle|stack|stackTrace|\$metadata)$/.test(key) ? undefined : value;

/**
 * Like `withoutDetails`, but also replaces each number with 0, and of a request's id keeps only whether it is the smoke
 * test's, so that similar lines become equal. Keeps the field `error`, the number of our error.
 */
const withoutFigures = (key: string, value: unknown): unknown => {
  if (key === 'gatewayRequestId') return String(value).startsWith('smoke-test-');
  return typeof value === 'number' && key !== 'error' ? 0 : withoutDetails(key, value);
};

/**
 * Returns the AWS CLI command that shows which of the lines (at most 50) match the pattern according to CloudWatch.
 * https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_TestMetricFilter.html
 */
export const filterCommand = ({ pattern, lines, matching }: FilterCheck): string =>
  [
    `# must match the messages ${matching.join(', ')}, counted from 1:`,
    `aws logs test-metric-filter --filter-pattern ${quoted(pattern)} --log-event-messages \\`,
    lines.map((line) => `  ${quoted(line)}`).join(' \\\n'),
  ].join('\n');

/** Quotes an argument for a POSIX shell. */
const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
