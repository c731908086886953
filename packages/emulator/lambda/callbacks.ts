import { types } from 'node:util';

export type Handler = (event: unknown, context: object, callback?: Callback) => unknown;
type Callback = (error?: unknown, result?: unknown) => void;

/** Whether a runtime still has what Lambda's nodejs24.x has changed. */
export const isBeforeNode24 = (runtime: string): boolean => Number(/\d+/.exec(runtime)) < 24;

/**
 * Lets a handler respond by a callback or by methods of the context, as on Lambda before nodejs24.x. `onIdle` calls its
 * argument once nothing is left to run. https://docs.aws.amazon.com/lambda/latest/dg/nodejs-handler.html
 * https://github.com/aws/aws-lambda-nodejs-runtime-interface-client/blob/1ab99907/src/Runtime.js
 */
export const withCallback =
  (handler: Handler, onIdle: (settle: () => void) => void): Handler =>
  (event, context) => {
    // Only the first call of these functions counts.
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const idle = types.isAsyncFunction(handler) ? undefined : new Promise<void>(onIdle);
    void idle?.then(() => resolve(null));
    const done: Callback = (error, result) => ((error ?? null) === null ? resolve(result) : reject(error));
    const fail = (error: unknown) => reject(error ?? 'handled');
    const all = { ...context, callbackWaitsForEmptyEventLoop: true, succeed: resolve, fail, done };
    const callback: Callback = (error, result) =>
      done(error, all.callbackWaitsForEmptyEventLoop && idle ? idle.then(() => result) : result);
    const returned = handler(event, all, callback);
    if (returned instanceof Object && 'then' in returned) Promise.resolve(returned).then(resolve, reject);
    return promise;
  };
