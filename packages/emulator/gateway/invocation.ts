/** Invokes the functions of a route. */
import type { LogLine, Outcome } from '../lambda/functions.ts';
import type { RouteSpec, Target } from '../served-stack.ts';
import { type HttpResponse, Refused, responseOf, responses } from './response.ts';

/** Invokes a function. Calls `onStart` when an instance for the event is there: until then, no time counts. */
export type Invoke = (target: Target, event: unknown, onStart: () => void) => Promise<Outcome>;

/**
 * Invokes a function for one request.
 * @returns its result as JSON, or undefined if it takes longer than `timeout` milliseconds
 * @throws Refused if the function fails
 */
export type Invoker = (target: Target, event: unknown, timeout: number) => Promise<string | undefined>;

/** Makes the invoker for one request. `log` receives the functions' log lines. With `debug`, nothing times out. */
export const makeInvoker =
  (invoke: Invoke, log: LogLine[], debug: boolean): Invoker =>
  async (target, event, timeout) => {
    const start = (onStart: () => void) => invoke(target, event, onStart);
    const outcome = await (debug ? start(() => {}) : withTimeout(start, timeout));
    if (outcome === undefined) return undefined;
    log.push(...outcome.log);
    if ('result' in outcome) return outcome.result;
    const response = outcome.tooLarge ? responses.bodyTooLarge : responses.serverError;
    throw new Refused(response, `${target.functionName}: ${outcome.failure}`);
  };

/**
 * Returns what `start` resolves to, or undefined if that takes longer than `milliseconds` after a call of `onStart`. A
 * later result is ignored.
 */
const withTimeout = async <T>(start: (onStart: () => void) => Promise<T>, milliseconds: number) => {
  const timeout = Promise.withResolvers<undefined>();
  let timer: NodeJS.Timeout | undefined;
  const onStart = () => {
    timer = setTimeout(() => timeout.resolve(undefined), milliseconds);
  };
  return Promise.race([start(onStart), timeout.promise]).finally(() => clearTimeout(timer));
};

/**
 * Calls the function of a route.
 * @returns the function's response
 * @throws Refused or Error if the function returns no valid response
 */
export const integrate = async (route: RouteSpec, event: object, invoke: Invoker): Promise<HttpResponse> => {
  const { target, timeout } = route;
  const result = await invoke(target, event, timeout);
  if (result === undefined) throw new Refused(responses.unavailable, `${target.functionName}: no response in time`);
  return responseOf(target.functionName, result);
};
