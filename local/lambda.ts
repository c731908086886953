import { randomUUID } from 'node:crypto';
import path from 'node:path';
import { Worker } from 'node:worker_threads';
import { functionArn } from './account.ts';
import type { RuntimeData, RuntimeMessage } from './lambda-runtime.ts';
import type { FunctionSpec } from './stack.ts';

/** A line that a function logged. */
export type LogLine = { functionName: string; level: string; message: unknown };

/** The handler's answer as JSON, or why there is none; `tooLarge` where the event was over Lambda's limit. */
type Answer = { result: string } | { failure: string; tooLarge?: true };

/** What came of an invocation, and what was logged meanwhile. */
export type Outcome = Answer & { log: LogLine[] };

export type LocalFunction = {
  invoke: (event: unknown) => Promise<Outcome>;
  /** Loads one instance, so that a function that cannot start is found before the first request. @throws Error */
  warmUp: () => Promise<void>;
  close: () => Promise<void>;
};

/** Instances of one function that may run at the same time. Events beyond them wait for their turn. */
const maxInstances = 8;

/** Milliseconds that Lambda gives a function to load. */
const initTimeout = 10_000;

/**
 * "Request must be smaller than 6291556 bytes for the Invoke operation", says Lambda, and "Response payload size exceeded
 * maximum allowed payload size (6291556 bytes)".
 */
const payloadLimit = 6_291_556;

/** The functions of a stack, by name. They are loaded at `warmUp`. */
export const localFunctions = (specs: FunctionSpec[], certificate?: string) => {
  const functions = new Map(specs.map((spec) => [spec.name, localFunction(spec, certificate)]));
  const each = async (act: (one: LocalFunction) => Promise<void>): Promise<void> => {
    await Promise.all([...functions.values()].map(act));
  };
  return {
    invoke: async (name: string, event: unknown): Promise<Outcome> =>
      (await functions.get(name)?.invoke(event)) ?? { failure: `no ${name}`, log: [] },
    warmUp: () => each((one) => one.warmUp()),
    close: () => each((one) => one.close()),
  };
};

/** A Lambda function in worker threads: one event at a time in each, each with nothing but its own environment. */
export const localFunction = (spec: FunctionSpec, certificate?: string): LocalFunction => {
  const instances = new Set<Instance>();
  const idle: Instance[] = [];
  const waiting: (() => void)[] = [];

  const take = async (): Promise<Instance> => {
    for (let free = idle.pop(); free !== undefined; free = idle.pop()) {
      if (free.isUsable()) return free;
      instances.delete(free);
    }
    if (instances.size >= maxInstances) {
      await new Promise<void>((resolve) => waiting.push(resolve));
      return take();
    }
    const instance = startInstance(spec, certificate);
    instances.add(instance);
    return instance;
  };

  const giveBack = (instance: Instance): void => {
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
    const instance = await take();
    try {
      return await instance.run(payload);
    } finally {
      giveBack(instance);
    }
  };

  return {
    invoke,
    warmUp: async () => {
      const instance = await take();
      const failure = await instance.loaded();
      giveBack(instance);
      if (failure !== undefined) throw new Error(`The function ${spec.name} cannot be loaded: ${failure}`);
    },
    close: async () => {
      await Promise.all([...instances].map((instance) => instance.stop()));
    },
  };
};

const withinLimit = (result: string): Answer =>
  Buffer.byteLength(result) > payloadLimit ? { failure: 'the answer is over 6 MB' } : { result };

type Instance = {
  /** Resolves with the reason where the function cannot be loaded. */
  loaded: () => Promise<string | undefined>;
  run: (payload: string) => Promise<Outcome>;
  isUsable: () => boolean;
  stop: () => Promise<unknown>;
};

const startInstance = (spec: FunctionSpec, certificate?: string): Instance => {
  const [fileName, exportName = ''] = spec.handler.split('.');
  const data: RuntimeData = {
    file: path.join(spec.folder, `${fileName}.js`),
    exportName,
    functionName: spec.name,
    functionArn: functionArn(spec.name),
    memoryMegabytes: spec.memoryMegabytes,
    ...(certificate !== undefined && { certificate }),
  };
  const worker = new Worker(new URL('lambda-runtime.ts', import.meta.url), {
    workerData: data,
    env: { ...spec.environment, AWS_LAMBDA_FUNCTION_NAME: spec.name },
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: spec.memoryMegabytes },
  });

  let usable = true;
  let log: LogLine[] = [];
  const ready = Promise.withResolvers<string | undefined>();
  let settle: (answer: Answer) => void = () => {};

  const die = (reason: string): void => {
    usable = false;
    ready.resolve(reason);
    settle({ failure: reason });
  };
  worker.on('error', (error) => die(error instanceof Error ? `${error.name}: ${error.message}` : String(error)));
  worker.on('exit', (code) => die(`the function's process exited with code ${code}`));
  worker.on('message', (message: RuntimeMessage) => {
    if (message.kind === 'ready') ready.resolve(undefined);
    else if (message.kind === 'log') log.push({ functionName: spec.name, ...message });
    else if (message.kind === 'result') settle(withinLimit(message.result));
    else settle({ failure: message.reason });
  });

  /** Lambda ends the instance, too, when a time is over. */
  const within = async <T>(milliseconds: number, what: string, promise: Promise<T>): Promise<T> => {
    const timer = setTimeout(() => {
      die(`${what} timed out after ${milliseconds} ms`);
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
