import { setTimeout } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { parseExactly, toExactJson } from '../exact-json.ts';
import type { CreatedItems, Item } from './created-items.ts';
import type { Answer, Invoke } from './deployment.ts';
import { authorizerEvent, forgedToken, type OperationRequest, operationEvent, type Route } from './events.ts';

type AnyOperation = { response: unknown; errorCode: number };

/** What the contract says of each operation, by its id. */
export type AnyOperations<Operations> = { [Id in keyof Operations]: AnyOperation };

/** A request, and its expected response: a status and a body, or an error number such as 40901. */
export type Check<Operation extends AnyOperation = AnyOperation> = OperationRequest & {
  /** The item that the table has if the function logs the outcome `created`. */
  creates?: Item;
} & ({ status: number; response: Operation['response'] } | { error: Operation['errorCode'] });

/** For each operation of the contract, its checks by name, in the order in which they run. */
export type Checks<Operations extends AnyOperations<Operations> = Record<string, AnyOperation>> = {
  readonly [Id in keyof Operations]: Readonly<Record<string, Check<Operations[Id]>>>;
};

/** For each operation and `authorizer`, the ARN of the version to test. */
export type Versions = Readonly<Record<string, string>>;

type ProblemOf = (answer: Answer) => string | undefined;

type Run = {
  checks: Checks;
  /** By the ids of the operations. */
  routes: Readonly<Record<string, Route>>;
  versions: Versions;
  issuer: string;
  requestId: string;
  invoke: Invoke;
  deadline: AbortSignal;
  /** Gets each item that the run may have added. */
  created: CreatedItems;
};

/**
 * Runs all checks, one after the other, and logs a line for each. @returns whether the versions passed all checks
 * @throws AbortError if a pause would outlast the deadline
 */
export const runChecks = async (run: Run): Promise<boolean> => {
  const { checks, routes, versions, issuer, requestId, invoke, deadline, created } = run;
  const send = async (of: string, check: Check): Promise<Answer> => {
    let log = '';
    try {
      const answer = await invoke(known(versions, of), operationEvent(known(routes, of), check, requestId));
      log = answer.log;
      return answer;
    } finally {
      if (check.creates) created.note(check.creates, log);
    }
  };
  const problems: (string | undefined)[] = [];
  const judge = async (of: string, check: string, sent: Promise<Answer>, problemOf: ProblemOf) => {
    const answer = await sent.catch((error: Error) => error);
    const problem = answer instanceof Error ? `Lambda did not run it: ${answer.name}` : problemOf(answer);
    problems.push(problem);
    const line = { function: of, check, lambdaRequestId: 'requestId' in answer ? answer.requestId : undefined };
    if (problem === undefined) console.info({ outcome: 'passed', ...line });
    else console.error({ outcome: 'failed', problem, ...line });
  };

  const listed = Object.entries(checks).map(
    ([of, named]) => [of, Object.entries(named) as [Named, ...Named[]]] as const,
  );
  const firsts = listed.map(([of, [[, first]]]) => ({ of, first }));
  await settle(firsts, ({ of, first }) => send(of, first), deadline);
  for (const [of, named] of listed) {
    for (const [name, check] of named)
      await judge(of, name, send(of, check), (answer) => problemOfResponse(answer, check));
  }
  const [route] = Object.values(routes);
  const tokenEvent = route && authorizerEvent(route, forgedToken(issuer), requestId);
  const forged = invoke(known(versions, 'authorizer'), tokenEvent ?? {});
  await judge('authorizer', 'a forged token', forged, problemOfRefusal);
  return problems.every((problem) => problem === undefined);
};

type Named = [name: string, check: Check];

/**
 * Repeats each request while the answer is 500, for up to a minute in all: new versions have new roles, and DynamoDB may
 * not know their permissions yet.
 */
const settle = async <Request>(
  requests: Request[],
  send: (request: Request) => Promise<Answer>,
  signal: AbortSignal,
): Promise<void> => {
  const maxPauses = 29;
  let pauses = 0;
  for (const request of requests) {
    while ((await send(request).then(({ result }) => result['statusCode'], String)) === 500 && pauses < maxPauses) {
      pauses++;
      await setTimeout(2_000, undefined, { signal });
    }
  }
  // Not all of DynamoDB learns of a role at the same moment, so wait longer than until the first host knows it.
  if (pauses > 0 && pauses < maxPauses) await setTimeout(10_000, undefined, { signal });
};

/** Never quotes the body, which must not be logged. @returns what is wrong, or undefined */
const problemOfResponse = ({ result, failure }: Answer, check: Check): string | undefined => {
  if (failure !== undefined) return `it failed: ${failure}`;
  const status = 'error' in check ? Math.floor(check.error / 100) : check.status;
  if (result['statusCode'] !== status)
    return `the status is ${Number(result['statusCode']) || 'missing'}, not ${status}`;
  const body = parse(result['body']);
  const isExpected =
    'error' in check ? Object(body).error === check.error : isDeepStrictEqual(body, parse(toExactJson(check.response)));
  return isExpected ? undefined : 'the body is not as expected';
};

const problemOfRefusal: ProblemOf = ({ result, failure, log }) => {
  if (failure !== undefined) return `it failed: ${failure}`;
  if (result['isAuthorized'] !== false) return 'it does not refuse';
  // An authorizer that refuses every token would log a different reason. Lambda may return no log.
  const reason = /"reason":"([\w ]+)"/.exec(log)?.[1] ?? 'unknown key';
  return reason === 'unknown key' ? undefined : `the reason is "${reason}", not "unknown key"`;
};

const parse = (body: unknown): unknown => {
  try {
    return parseExactly(String(body));
  } catch {
    return undefined;
  }
};

/** @throws Error if there is none of this name: the stack and the checks are for different contracts */
const known = <Value>(values: Readonly<Record<string, Value>>, name: string): Value => {
  const value = values[name];
  if (value === undefined) throw new Error(`Nothing is known of ${name}.`);
  return value;
};
