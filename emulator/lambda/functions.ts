import { randomUUID } from 'node:crypto';
import path from 'node:path';
import { Worker } from 'node:worker_threads';
import { functionArn } from '../account.ts';
import type { FunctionSpec, Target } from '../served-stack.ts';
import type { RuntimeData, RuntimeMessage } from './runtime.ts';

/** One line that a function logged. */
export type LogLine = { functionName: string; level: string; message: unknown };

/** The handler's result as JSON, or why there is none. `tooLarge` means that the event exceeded Lambda's limit. */
type Answer = { result: string } | { failure: string; tooLarge?: true };

/** The result of an invocation, and the lines that the function logged during it. */
export type Outcome = Answer & { log: LogLine[] };

export type LocalFunction = {
  invoke: (event: unknown) => Promise<Outcome>;
  /** Loads one instance, so that a function that cannot load fails before the first request. @throws Error */
  warmUp: () => Promise<void>;
  close: () => Promise<void>;
};

/** How many instances of one function may run at the same time. Further events wait for a free instance. */
const maxInstances = 8;

/** How long Lambda lets a function load, in milliseconds. */
const initTimeout = 10_000;

/**
 * Lambda's limit for an event and for a result. Its errors say: "Request must be smaller than 6291556 bytes for the
 * Invoke operation", and "Response payload size exceeded maximum allowed payload size (6291556 bytes)".
 */
const payloadLimit = 6_291_556;

/** The functions of a stack, to invoke by name. `warmUp` loads all of them. */
export const localFunctions = (specs: FunctionSpec[], certificates: string[] = []) => {
  const functions = new Map(specs.map((spec) => [spec.name, localFunction(spec, certificates)]));
  const each = async (act: (one: LocalFunction) => Promise<void>): Promise<void> => {
    await Promise.all([...functions.values()].map(act));
  };
  const invokeByName = async (name: string, event: unknown): Promise<Outcome> =>
    (await functions.get(name)?.invoke(event)) ?? { failure: `there is no function ${name}`, log: [] };
  return {
    invoke: (target: Target, event: unknown): Promise<Outcome> => invokeByName(target.functionName, event),
    invokeByName,
    warmUp: () => each((one) => one.warmUp()),
    close: () => each((one) => one.close()),
  };
};

/** A Lambda function in worker threads. A thread handles one event at a time, with only the function's environment. */
export const localFunction = (spec: FunctionSpec, certificates: string[] = []): LocalFunction => {
  const instances = new Set<Instance>();
  const idle: Instance[] = [];
  const waiting: (() => void)[] = [];

  const acquire = async (): Promise<Instance> => {
    for (let free = idle.pop(); free !== undefined; free = idle.pop()) {
      if (free.isUsable()) return free;
      instances.delete(free);
    }
    if (instances.size >= maxInstances) {
      await new Promise<void>((resolve) => waiting.push(resolve));
      return acquire();
    }
    const instance = startInstance(spec, certificates);
    instances.add(instance);
    return instance;
  };

  const release = (instance: Instance): void => {
    if (instance.isUsable()) {
      idle.push(instance);
    } else {
      instances.delete(instance);
    }
    waiting.shift()?.();
  };

  const invoke = async (event: unknown): Promise<Outcome> => {
    const payload = JSON.stringify(event);
    if (Buffer.byteLength(payload) >= payloadLimit)
      return { failure: 'the event is over 6 MB', tooLarge: true, log: [] };
    const instance = await acquire();
    try {
      return await instance.run(payload);
    } finally {
      release(instance);
    }
  };

  return {
    invoke,
    warmUp: async () => {
      const instance = await acquire();
      const failure = await instance.loaded();
      release(instance);
      if (failure !== undefined) throw new Error(`The function ${spec.name} cannot be loaded: ${failure}`);
    },
    close: async () => {
      await Promise.all([...instances].map((instance) => instance.stop()));
    },
  };
};

const withinLimit = (result: string): Answer =>
  Buffer.byteLength(result) > payloadLimit ? { failure: 'the response is over 6 MB' } : { result };

type Instance = {
  /** Resolves to undefined once the function is loaded, or to the reason why it cannot be. */
  loaded: () => Promise<string | undefined>;
  run: (payload: string) => Promise<Outcome>;
  isUsable: () => boolean;
  stop: () => Promise<unknown>;
};

const startInstance = (spec: FunctionSpec, certificates: string[]): Instance => {
  const [fileName, exportName = ''] = spec.handler.split('.');
  const data: RuntimeData = {
    file: path.join(spec.folder, `${fileName}.js`),
    exportName,
    functionName: spec.name,
    functionArn: functionArn(spec.name),
    memoryMegabytes: spec.memoryMegabytes,
    certificates,
  };
  const worker = new Worker(new URL('runtime.ts', import.meta.url), {
    workerData: data,
    env: { ...spec.environment, AWS_LAMBDA_FUNCTION_NAME: spec.name },
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: spec.memoryMegabytes },
  });

  let usable = true;
  let log: LogLine[] = [];
  const ready = Promise.withResolvers<string | undefined>();
  let settle: (answer: Answer) => void = () => {};

  const fail = (reason: string): void => {
    usable = false;
    ready.resolve(reason);
    settle({ failure: reason });
  };
  worker.on('error', (error) => fail(error instanceof Error ? `${error.name}: ${error.message}` : String(error)));
  worker.on('exit', (code) => fail(`the function's process exited with code ${code}`));
  worker.on('message', (message: RuntimeMessage) => {
    if (message.kind === 'ready') ready.resolve(undefined);
    else if (message.kind === 'log') log.push({ functionName: spec.name, ...message });
    else if (message.kind === 'result') settle(withinLimit(message.result));
    else settle({ failure: message.reason });
  });

  /** Waits for `promise`. After `milliseconds` it ends the instance, as Lambda does. */
  const within = async <T>(milliseconds: number, what: string, promise: Promise<T>): Promise<T> => {
    const timer = setTimeout(() => {
      fail(`${what} timed out after ${milliseconds} ms`);
      void worker.terminate();
    }, milliseconds);
    return promise.finally(() => clearTimeout(timer));
  };

  const loaded = (): Promise<string | undefined> => within(initTimeout, 'loading', ready.promise);

  return {
    loaded,
    isUsable: () => usable,
    stop: () => worker.terminate(),
    run: async (payload) => {
      const failure = await loaded();
      if (failure !== undefined) return { failure, log };
      const answer = Promise.withResolvers<Answer>();
      settle = answer.resolve;
      worker.postMessage({ requestId: randomUUID(), event: payload, deadline: Date.now() + spec.timeout });
      const outcome = await within(spec.timeout, 'the function', answer.promise);
      const logged = log;
      log = [];
      return { ...outcome, log: logged };
    },
  };
};
