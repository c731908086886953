/**
 * Runs in a worker thread, and replaces Lambda's Node.js runtime: loads the handler, then handles one event at a time.
 * As on Lambda, environment variables contain the handler's name, its folder and the function's configuration.
 */
import { flushCompileCache } from 'node:module';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { loadHandler } from './load-handler.ts';
import { limitModules } from './modules.ts';
import { captureLog, errorText, logError, RuntimeError } from './reports.ts';
import { enterTaskRoot } from './task-root.ts';

/**
 * `certificates` are certificate authorities (PEM) that the function trusts besides Node's default ones. If `debug` is
 * true, a debugger may pause the function.
 */
export type RuntimeData = { certificates: string[]; debug: boolean };

/** An event for the handler. `event` is JSON text, as on Lambda; `timeout` is in milliseconds. */
export type Invocation = {
  requestId: string;
  event: string;
  timeout: number;
  arn: string;
  version: string;
  traceId: string;
};

/**
 * A message from the worker thread. `record` and `result` are JSON text. After an `end` message, the instance handles
 * no further event.
 */
export type RuntimeMessage =
  | { kind: 'ready' }
  | { kind: 'log'; record: string }
  | { kind: 'result'; result: string }
  | { kind: 'failure' | 'end'; reason: string };

const { env } = process;
// Hide NODE_COMPILE_CACHE from the function. The variable is meant for Node, which read it when the thread started.
delete env['NODE_COMPILE_CACHE'];
const send = (message: RuntimeMessage): void => parentPort?.postMessage(message);

/**
 * Logs an error and ends the instance. As on Lambda, the exit code is 128 for an unhandled rejection and 129 for an
 * uncaught exception.
 */
const crash = (error: unknown, exitCode: number): void => {
  endLine();
  logError(error);
  send({ kind: 'end', reason: errorText(error) });
  process.exit(exitCode);
};

const endLine = captureLog(env['AWS_LAMBDA_LOG_LEVEL'], (record) => send({ kind: 'log', record }));
// AWS does not document these two listeners, but version 3 of AWS's runtime interface client for Node.js has them.
process.on('uncaughtException', (error) => crash(error, 129));
process.on('unhandledRejection', (reason) =>
  crash(Object.assign(new RuntimeError('UnhandledPromiseRejection', String(reason)), { reason }), 128),
);
// As on Lambda, an event fails if nothing is left to run and the handler's promise has not settled:
// https://docs.aws.amazon.com/lambda/latest/dg/troubleshooting-invocation.html
const emptyLoop = 'The event loop is empty. This is usually due to a Promise that was never settled.';
process.on('beforeExit', () => send({ kind: 'end', reason: `Runtime.NodeJsExit: ${emptyLoop}` }));

const { certificates, debug } = workerData as RuntimeData;
if (certificates.length > 0) {
  const tls = await import('node:tls');
  tls.setDefaultCACertificates([...tls.getCACertificates('default'), ...certificates]);
}

if (debug) {
  (await import('./suspend-timers.ts')).suspendTimers();
  // If the code has source maps for the debugger, use them for stack traces, too, so that the traces name source lines.
  process.setSourceMapsEnabled(true);
}

/** The context object that a handler gets: https://docs.aws.amazon.com/lambda/latest/dg/nodejs-context.html */
const contextOf = ({ requestId, arn, version, traceId }: Invocation, endsAt: number): object => ({
  invokedFunctionArn: arn,
  awsRequestId: requestId,
  xRayTraceId: traceId,
  getRemainingTimeInMillis: () => Math.floor(endsAt - performance.now()),
  functionVersion: version,
  functionName: env['AWS_LAMBDA_FUNCTION_NAME'],
  memoryLimitInMB: env['AWS_LAMBDA_FUNCTION_MEMORY_SIZE'],
  logGroupName: env['AWS_LAMBDA_LOG_GROUP_NAME'],
  logStreamName: env['AWS_LAMBDA_LOG_STREAM_NAME'],
});

/** Converts a handler's result to JSON. As on Lambda, undefined becomes null. */
const toJson = (result: unknown): string => {
  try {
    return JSON.stringify(result) ?? 'null';
  } catch {
    throw new RuntimeError('JSONStringifyError', 'Unable to stringify response body');
  }
};

const taskRoot = env['LAMBDA_TASK_ROOT'] ?? '';
limitModules(taskRoot);
enterTaskRoot(taskRoot);
const handler = await loadHandler(taskRoot, env['_HANDLER'] ?? '').catch((error) => crash(error, 1));

parentPort?.on('message', async (invocation: Invocation) => {
  const endsAt = performance.now() + invocation.timeout;
  // During an event, the message port must not keep the thread alive. If nothing else keeps it alive, the event can
  // never finish, so the thread must exit and the event fail.
  parentPort?.unref();
  env['_X_AMZN_TRACE_ID'] = invocation.traceId;
  env['AWS_LAMBDA_FUNCTION_VERSION'] = invocation.version;
  try {
    const result = await handler?.(JSON.parse(invocation.event), contextOf(invocation, endsAt));
    // As on Lambda, wait one turn of the event loop: an unhandled rejection in that turn makes the event fail.
    await nextTurn();
    endLine();
    send({ kind: 'result', result: toJson(result) });
  } catch (error) {
    await nextTurn();
    endLine();
    logError(error);
    send({ kind: 'failure', reason: errorText(error) });
  }
  parentPort?.ref();
});
send({ kind: 'ready' });
// Save the compiled code to the cache now, because a thread saves nothing when it is terminated.
flushCompileCache();
