import { randomBytes, randomUUID } from 'node:crypto';
import path from 'node:path';
import { Worker } from 'node:worker_threads';
import type { FunctionSpec, Target } from '../served-stack.ts';
import { errorText, type LogLine } from './reports.ts';
import type { Invocation, RuntimeData, RuntimeMessage } from './runtime.ts';

/**
 * The handler's result as JSON, or why there is no result. `tooLarge` means that the event exceeded Lambda's size
 * limit.
 */
type Answer = { result: string } | { failure: string; tooLarge?: true };

/** The result of an invocation, and the lines that the function logged. */
export type Outcome = Answer & { log: LogLine[] };

/**
 * Lambda's limit, in bytes, for an event and for a result. Lambda's errors say "Request must be smaller than 6291556
 * bytes for the Invoke operation" and "Response payload size exceeded maximum allowed payload size (6291556 bytes)".
 */
export const payloadLimit = 6_291_556;

/**
 * Lambda's time limit, in milliseconds, for loading a function:
 * https://docs.aws.amazon.com/lambda/latest/dg/lambda-runtime-environment.html
 */
const initTimeout = 10_000;

/**
 * The maximum size of V8's young generation in an instance, in megabytes. With V8's default of about 100 MB, each
 * instance under load would sooner or later use that much memory.
 */
const maxYoungGenerationSizeMb = 16;

/** One execution environment of a function: a worker thread that handles one event at a time. */
export class Instance {
  readonly #spec: FunctionSpec;
  readonly #data: RuntimeData;
  readonly #worker: Worker;
  readonly #onEnd: (instance: Instance) => void;
  readonly #initTimer: NodeJS.Timeout | undefined;
  readonly #loading = Promise.withResolvers<string | undefined>();
  /** Resolves to undefined once the function is loaded, or to the reason why the function cannot be loaded. */
  readonly loaded = this.#loading.promise;
  #settle: (answer: Answer) => void = () => {};
  readonly #log: LogLine[] = [];
  /** Why the instance ended; undefined until then. */
  #ended?: string;

  /**
   * Starts a thread that loads the code in `folder`. `onEnd` is called once: when the instance can handle no further
   * event.
   */
  constructor(spec: FunctionSpec, folder: string, data: RuntimeData, onEnd: (instance: Instance) => void) {
    this.#spec = spec;
    this.#data = data;
    this.#onEnd = onEnd;
    this.#worker = new Worker(new URL(`runtime${path.extname(import.meta.filename)}`, import.meta.url), {
      // A debugger shows this name for the thread.
      name: spec.name,
      workerData: data,
      env: { ...spec.environment, ...lambdaVariables(spec, folder), ...(NODE_COMPILE_CACHE && { NODE_COMPILE_CACHE }) },
      resourceLimits: { maxOldGenerationSizeMb: spec.memoryMegabytes, maxYoungGenerationSizeMb },
    });
    this.#worker.on('message', (message: RuntimeMessage) => this.#receive(message));
    this.#worker.on('error', (error) => this.#end(errorText(error)));
    this.#worker.on('exit', (code) => {
      const how = code === 0 ? 'without providing a reason' : `with error: exit status ${code}`;
      this.#end(`Runtime.ExitError: Runtime exited ${how}`);
    });
    this.#initTimer = this.#endAfter(initTimeout, `Loading timed out after ${initTimeout} ms`);
  }

  /** Handles one event. Call this only if no other event is in progress. */
  async run(target: Target, event: string, traceId: string): Promise<Outcome> {
    await this.loaded;
    if (this.#ended !== undefined) return { failure: this.#ended, log: this.takeLog() };
    const { promise, resolve } = Promise.withResolvers<Answer>();
    this.#settle = resolve;
    const [{ timeout }, { arn, version }] = [this.#spec, target];
    const invocation: Invocation = { requestId: randomUUID(), event, timeout, arn, version, traceId };
    this.#worker.postMessage(invocation);
    const timer = this.#endAfter(timeout, `Task timed out after ${(timeout / 1000).toFixed(2)} seconds`);
    const answer = await promise;
    clearTimeout(timer);
    return { ...answer, log: this.takeLog() };
  }

  /** Returns the lines that the function has logged since the last call of this method. */
  takeLog(): LogLine[] {
    return this.#log.splice(0);
  }

  async stop(): Promise<void> {
    await this.#worker.terminate();
  }

  #receive(message: RuntimeMessage): void {
    if (message.kind === 'ready') this.#setLoaded(undefined);
    else if (message.kind === 'log') this.#log.push({ functionName: this.#spec.name, ...JSON.parse(message.record) });
    else if (message.kind === 'result') this.#settle(withinLimit(message.result));
    else if (message.kind === 'failure') this.#settle({ failure: message.reason });
    else this.#end(message.reason);
  }

  /**
   * Starts a timer that ends the instance after this time. With `debug`, starts none, because a debugger's pauses would
   * count.
   */
  #endAfter(milliseconds: number, reason: string): NodeJS.Timeout | undefined {
    return this.#data.debug ? undefined : setTimeout(() => this.#end(reason), milliseconds);
  }

  #setLoaded(failure: string | undefined): void {
    clearTimeout(this.#initTimer);
    this.#loading.resolve(failure);
  }

  #end(reason: string): void {
    if (this.#ended !== undefined) return;
    this.#ended = reason;
    void this.#worker.terminate();
    this.#setLoaded(reason);
    this.#settle({ failure: reason });
    this.#onEnd(this);
  }
}

const withinLimit = (result: string): Answer =>
  Buffer.byteLength(result) > payloadLimit ? { failure: 'the response is over 6 MB' } : { result };

/**
 * The environment variables that Lambda sets: https://docs.aws.amazon.com/lambda/latest/dg/configuration-envvars.html
 * Only JSON logs have a level: https://docs.aws.amazon.com/lambda/latest/dg/monitoring-cloudwatchlogs-advanced.html
 */
const lambdaVariables = (spec: FunctionSpec, folder: string): Record<string, string> => ({
  _HANDLER: spec.handler,
  AWS_DEFAULT_REGION: spec.account.region,
  AWS_EXECUTION_ENV: `AWS_Lambda_${spec.runtime}`,
  AWS_LAMBDA_FUNCTION_NAME: spec.name,
  AWS_LAMBDA_FUNCTION_MEMORY_SIZE: String(spec.memoryMegabytes),
  AWS_LAMBDA_FUNCTION_VERSION: '$LATEST',
  AWS_LAMBDA_INITIALIZATION_TYPE: 'on-demand',
  AWS_LAMBDA_LOG_FORMAT: spec.logLevel === undefined ? 'Text' : 'JSON',
  AWS_LAMBDA_LOG_GROUP_NAME: `/aws/lambda/${spec.name}`,
  ...(spec.logLevel && { AWS_LAMBDA_LOG_LEVEL: spec.logLevel }),
  AWS_LAMBDA_LOG_STREAM_NAME: `${new Date().toISOString().slice(0, 10).replaceAll('-', '/')}/[$LATEST]${randomBytes(16).toString('hex')}`,
  AWS_REGION: spec.account.region,
  LAMBDA_TASK_ROOT: path.resolve(folder),
  TZ: spec.environment['TZ'] ?? ':UTC',
});

/** If this process has a cache of compiled code, the function's thread uses it, too, and starts in half the time. */
const { NODE_COMPILE_CACHE } = process.env;
