/** Turns what happens in a trial stack into happenings, from which the template's alarms can be evaluated. */
import { inject } from 'vitest';
import type { FaultyStore } from './faulty-store.ts';
import type { Happening, Occurrence } from './happenings.ts';
import { metricFilters } from './log-metrics.ts';
import type { Template } from './template.ts';
import type { Invocation, TrialStack } from './trial-stack.ts';

/** How many milliseconds an everyday invocation takes. */
const usual = 20;

/** Makes the occurrences happen again in each minute, from the minute `from` to the last one before `to`. */
export const eachMinute = (from: number, to: number, occurrences: readonly Occurrence[]): Happening[] =>
  Array.from({ length: to - from }, (_, index) => from + index).flatMap((minute) =>
    occurrences.map((occurrence) => ({ minute, occurrence })),
  );

/**
 * Records what happens while `request` sends one request, without measuring times, since a busy machine must raise no
 * alarm.
 * @param times in milliseconds that an invocation took, by function; one that timed out took its deployed time-out
 * @throws Error if the gateway handled several requests meanwhile, or none
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

/** A metric filter's pattern, lines of its function's log, and which of them the filter must match, counted from 1. */
export type FilterCheck = { pattern: string; lines: string[]; matching: number[] };

/** Returns a check for each metric filter of the functions that logged anything, with one line of each kind. */
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

/** Leaves out (as a replacer of JSON.stringify) details that are long or new in each run, and that no filter reads. */
const withoutDetails = (key: string, value: unknown): unknown =>
  /^(?:gatewayRequestId|bundle|stack|stackTrace|\$metadata)$/.test(key) ? undefined : value;

/** Leaves out the same as `withoutDetails`, and all numbers but the error's, so that lines of one kind are equal. */
const withoutFigures = (key: string, value: unknown): unknown =>
  typeof value === 'number' && key !== 'error' ? 0 : withoutDetails(key, value);

/**
 * Returns the command of the AWS CLI that shows which of up to 50 lines CloudWatch matches.
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
