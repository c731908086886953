/** Makes the typed function that calls an operation. Each call gets the access token, and then sends the request. */
import { type Operation, requestOf } from './request.ts';
import { type Outcome, send } from './send.ts';

export type { Outcome };

/**
 * An access token, or a function that returns one. The client calls the function for every call of an operation, so the
 * function should cache its token. If the service refuses the token (401 or 403), the client calls the function once
 * more, with `refused: true`; the function should then get a new token. The operation throws whatever the function
 * throws.
 * @example
 * let cached: Promise<string> | undefined;
 * const token: Token = ({ refused }) => {
 *   if (refused) cached = undefined;
 *   return (cached ??= fetchToken());
 * };
 */
export type Token = string | ((hint: { refused: boolean }) => string | Promise<string>);

/**
 * The optional last argument of each call. If the signal is aborted, the call ends and throws the signal's reason.
 * @example
 * const options: Options = { signal: AbortSignal.timeout(20_000) };
 */
export type Options = { signal?: AbortSignal };

/** The types of one operation's arguments and results. functions/generated/contract.ts has them for each operation. */
type OperationTypes = { parameters: object; body: unknown; response: unknown; errorCode: number };

export type Call<Types extends OperationTypes> = (
  ...args: [
    ...parameters: ParametersArgument<Types['parameters']>,
    ...body: BodyArgument<Types['body']>,
    options?: Options,
  ]
) => Promise<Outcome<Types['response'], Types['errorCode']>>;

type ParametersArgument<Parameters> = keyof Parameters extends never
  ? []
  : Partial<Parameters> extends Parameters
    ? [parameters?: OrUndefined<Parameters>]
    : [parameters: OrUndefined<Parameters>];

/**
 * Allows undefined for optional parameters: callers may write `{ after: page.next }` even if `page.next` is undefined.
 */
type OrUndefined<Parameters> = {
  [Name in keyof Parameters]: Partial<Pick<Parameters, Name>> extends Pick<Parameters, Name>
    ? Parameters[Name] | undefined
    : Parameters[Name];
};

type BodyArgument<Body> = [Body] extends [undefined] ? [] : [body: Body];

/**
 * Returns a function that calls an operation of the service at `baseUrl`. The type `Call` describes the function's
 * arguments.
 */
export const callOf =
  (operation: Operation, baseUrl: string, token: Token) =>
  async (...args: unknown[]): Promise<Outcome<unknown, number>> => {
    const parameters = operation.parameters.length > 0 ? args.shift() : {};
    const body = operation.body && args.shift();
    const [{ signal } = {}] = args as [Options?];
    // Build the request now, because that copies the arguments: the caller may change them before the request is sent.
    const request = requestOf(operation, baseUrl, parameters ?? {}, body);
    const sendWith = (accessToken: string) => send(operation, request, accessToken, signal);
    if (typeof token === 'string') return sendWith(token);
    const result = await sendWith(await untilAborted(() => token({ refused: false }), signal));
    if (result.ok || result.error !== 'gateway' || ![401, 403].includes(result.status)) return result;
    return sendWith(await untilAborted(() => token({ refused: true }), signal));
  };

/** Runs `work` and waits for its result. @throws `signal.reason` as soon as the signal is aborted */
const untilAborted = async <T>(work: () => T | Promise<T>, signal: AbortSignal | undefined): Promise<T> => {
  if (signal === undefined) return work();
  signal.throwIfAborted();
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    const done = (async () => work())().then(resolve, reject);
    void done.finally(() => signal.removeEventListener('abort', abort));
  });
};
