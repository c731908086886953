import { setTimeout } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { OperationId } from '../generated/contract.ts';
import { type Check, type Checks, checksFor } from './checks.ts';
import type { Answer, Invoke } from './deployment.ts';
import { authorizerEvent, forgedToken, operationEvent, toJson } from './events.ts';

/** For each function, the ARN of the version to test. */
export type Versions = Record<OperationId | 'authorizer', string>;

type ProblemOf = (answer: Answer) => string | undefined;

type Run = { versions: Versions; issuer: string; requestId: string; invoke: Invoke };

/** Runs all checks, one after the other, and logs a line for each. @returns whether the versions passed all checks */
export const runChecks = async ({ versions, issuer, requestId, invoke }: Run): Promise<boolean> => {
  const problems: (string | undefined)[] = [];
  const run = async (of: keyof Versions, check: string, event: object, problemOf: ProblemOf) => {
    const answer = await invoke(versions[of], event).catch((error: Error) => error);
    const problem = answer instanceof Error ? `Lambda did not run it: ${answer.name}` : problemOf(answer);
    problems.push(problem);
    const line = { function: of, check, lambdaRequestId: 'requestId' in answer ? answer.requestId : undefined };
    if (problem === undefined) console.info({ outcome: 'passed', ...line });
    else console.error({ outcome: 'failed', problem, ...line });
  };

  const statuses: unknown[] = [];
  for (const [of, [[, first]]] of listed(checksFor(false)))
    statuses.push(await settledStatus(() => invoke(versions[of], operationEvent(of, first, requestId))));
  const isTaken = statuses.includes(409);
  if (isTaken) console.info({ outcome: 'taken' });
  for (const [of, checks] of listed(checksFor(isTaken))) {
    for (const [name, check] of checks)
      await run(of, name, operationEvent(of, check, requestId), (answer) => problemOfResponse(answer, check));
  }
  await run('authorizer', 'a forged token', authorizerEvent(forgedToken(issuer), requestId), problemOfRefusal);
  return problems.every((problem) => problem === undefined);
};

type Named = [name: string, check: Check];

const listed = (checks: Checks) =>
  Object.entries<Record<string, Check>>(checks).map(
    ([of, named]) => [of as OperationId, Object.entries(named) as [Named, ...Named[]]] as const,
  );

/**
 * Repeats a request while the answer is 500, for up to a minute: a new version has a new role, and DynamoDB may not know
 * its permissions yet. @returns the status of the last answer
 */
const settledStatus = async (send: () => Promise<Answer>): Promise<unknown> => {
  for (let attempt = 1; ; attempt++) {
    const status = await send().then(({ result }) => result['statusCode'], String);
    if (status === 500 && attempt < 30) {
      await setTimeout(2_000);
      continue;
    }
    // Not all of DynamoDB learns of a role at the same moment, so wait longer than until the first host knows it.
    if (status !== 500 && attempt > 1) await setTimeout(10_000);
    return status;
  }
};

/** Never quotes the body, which must not be logged. @returns what is wrong, or undefined */
const problemOfResponse = ({ result, failure }: Answer, check: Check): string | undefined => {
  if (failure !== undefined) return `it failed: ${failure}`;
  const status = 'error' in check ? Math.floor(check.error / 100) : check.status;
  if (result['statusCode'] !== status)
    return `the status is ${Number(result['statusCode']) || 'missing'}, not ${status}`;
  const body = parse(result['body']);
  const isExpected =
    'error' in check ? Object(body).error === check.error : isDeepStrictEqual(body, parse(toJson(check.response)));
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
    return JSON.parse(String(body), exactInteger);
  } catch {
    return undefined;
  }
};

/** Keeps the digits of an integer that a JavaScript number would round, such as an id. */
const exactInteger = (_: string, value: unknown, { source = '' }: { source?: string } = {}): unknown =>
  typeof value === 'number' && !Number.isSafeInteger(value) && /^-?\d+$/.test(source) ? BigInt(source) : value;
