import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { type FunctionSpec, functionArn, type Target } from '../served-stack.ts';
import { Instance, type InstanceData, type LogLine, type Outcome, payloadLimit } from './instance.ts';

export type { LogLine, Outcome } from './instance.ts';

/**
 * The functions of a stack. A caller may change a function's `timeout` in its spec; the new value applies to later
 * events.
 */
export class Functions {
  readonly #functions: Map<string, LambdaFunction>;

  /**
   * `certificates` are certificate authorities (PEM) that the functions trust besides Node's default ones. With
   * `debug`, nothing times out. Functions of the previous stack (`earlier`) are reused if spec and code are unchanged.
   */
  constructor(specs: FunctionSpec[], certificates: string[] = [], debug = false, earlier?: Functions) {
    this.#functions = new Map(
      specs.map((spec) => {
        const same = earlier === undefined ? undefined : earlier.#functions.get(spec.name);
        return [spec.name, same?.runs(spec) ? same : new LambdaFunction(spec, { certificates, debug })];
      }),
    );
  }

  /** Passes an event to the function that `target` names. @throws Error if the stack has no function with that name */
  async invoke(target: Target, event: unknown): Promise<Outcome> {
    return this.#find(target.functionName).invoke(target, event);
  }

  /**
   * Invokes the unpublished version ($LATEST) of a function. @throws Error if the stack has no function with this name
   */
  async invokeByName(functionName: string, event: unknown): Promise<Outcome> {
    return this.#find(functionName).invokeLatest(event);
  }

  /**
   * Loads one instance of each function that is not loaded yet. @throws Error that names a function that cannot be
   * loaded
   */
  async warmUp(): Promise<void> {
    await Promise.all([...this.#functions.values()].map((each) => each.warmUp()));
  }

  /**
   * Replaces a function's code with the code in `folder`, and sets environment variables, for later events.
   * @throws Error if the stack has no function with this name, or if the new code cannot be loaded (the function then
   * keeps the old code)
   */
  async swap(functionName: string, folder: string, environment: Record<string, string> = {}): Promise<void> {
    await this.#find(functionName).swap(folder, environment);
  }

  /** Closes every function, except those that another stack in `others` shares. */
  async close(others: Functions[] = []): Promise<void> {
    const shared = new Set(others.flatMap((each) => [...each.#functions.values()]));
    await Promise.all([...this.#functions.values()].map((each) => shared.has(each) || each.close()));
  }

  #find(name: string): LambdaFunction {
    const found = this.#functions.get(name);
    if (found !== undefined) return found;
    throw new Error(`The stack has no function ${name}. It has ${[...this.#functions.keys()].join(', ') || 'none'}.`);
  }
}

/** How many instances of one function may run at the same time. Further events wait for a free instance. */
const maxInstances = 8;

/** A Lambda function: up to eight instances, each of which handles one event at a time. */
class LambdaFunction {
  #spec: FunctionSpec;
  readonly #data: InstanceData;
  #folder: string;
  /** Every instance that has not ended, including those that still run old code. */
  readonly #instances = new Set<Instance>();
  /** The instances that run the newest code. */
  #current = new Set<Instance>();
  #idle: Instance[] = [];
  readonly #waiting: (() => void)[] = [];
  /** Lines logged by instances that ended between two events. `invoke` returns them with the next event's lines. */
  readonly #lateLog: LogLine[] = [];
  #lastSwap: Promise<void> = Promise.resolve();
  #warmedUp?: Promise<void>;
  #isClosed = false;

  constructor(spec: FunctionSpec, data: InstanceData) {
    this.#spec = spec;
    this.#data = data;
    this.#folder = spec.folder;
  }

  /**
   * Invokes the function. If an instance has ended since the last event, the returned log begins with the last lines of
   * that instance, which no earlier call has returned.
   */
  async invoke(target: Target, event: unknown): Promise<Outcome> {
    const payload = JSON.stringify(event);
    if (Buffer.byteLength(payload) >= payloadLimit)
      return { failure: 'the event is over 6 MB', tooLarge: true, log: [] };
    const instance = await this.#acquire();
    try {
      const outcome = await instance.run(target, payload, traceIdOf(event));
      return { ...outcome, log: [...this.#lateLog.splice(0), ...outcome.log] };
    } finally {
      this.#release(instance);
    }
  }

  /** Invokes the unpublished version. */
  invokeLatest(event: unknown): Promise<Outcome> {
    const { name, account } = this.#spec;
    return this.invoke({ functionName: name, arn: functionArn(account, name), version: '$LATEST' }, event);
  }

  /**
   * Whether the function has exactly this spec, and still runs the code in the spec's folder. After a call of `swap`,
   * the function may run the code in another folder.
   */
  runs(spec: FunctionSpec): boolean {
    return this.#folder === spec.folder && isDeepStrictEqual(this.#spec, spec);
  }

  /**
   * Loads one instance, so that errors show before the first request. @throws Error if the function cannot be loaded
   */
  warmUp(): Promise<void> {
    this.#warmedUp ??= this.#loadOne();
    return this.#warmedUp;
  }

  async #loadOne(): Promise<void> {
    const instance = await this.#acquire();
    const failure = await instance.loaded();
    this.#release(instance);
    const { name, handler, folder } = this.#spec;
    if (failure !== undefined)
      throw new Error(`The function ${name} (handler ${handler} in ${folder}) cannot be loaded: ${failure}`);
  }

  /**
   * Replaces the code, and sets variables, for later events. Events in progress finish on instances with the old code.
   * @throws Error if the new code cannot be loaded (the function then keeps the old code), or if the function was
   * closed
   */
  swap(folder: string, environment: Record<string, string>): Promise<void> {
    const swapped = this.#lastSwap.then(() => this.#replaceCode(folder, environment));
    this.#lastSwap = swapped.catch(() => {});
    return swapped;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#instances].map((instance) => instance.stop()));
  }

  async #replaceCode(folder: string, environment: Record<string, string>): Promise<void> {
    this.#mustBeOpen();
    const spec = { ...this.#spec, environment: { ...this.#spec.environment, ...environment } };
    const instance = this.#start(folder, spec);
    const failure = await instance.loaded();
    if (failure !== undefined)
      throw new Error(`The new code of the function ${this.#spec.name} cannot be loaded: ${failure}`);
    const replaced = this.#idle;
    this.#spec = spec;
    this.#folder = folder;
    this.#current = new Set([instance]);
    this.#idle = [instance];
    for (const old of replaced) void old.stop();
    for (const wake of this.#waiting.splice(0)) wake();
  }

  #mustBeOpen(): void {
    if (this.#isClosed) throw new Error(`The function ${this.#spec.name} was closed.`);
  }

  #start(folder: string, spec = this.#spec): Instance {
    const instance = new Instance(spec, folder, this.#data, (ended) => this.#forget(ended));
    this.#instances.add(instance);
    return instance;
  }

  async #acquire(): Promise<Instance> {
    for (;;) {
      this.#mustBeOpen();
      const free = this.#idle.pop();
      if (free !== undefined) return free;
      if (this.#current.size < maxInstances) {
        const instance = this.#start(this.#folder);
        this.#current.add(instance);
        return instance;
      }
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  #release(instance: Instance): void {
    if (this.#current.has(instance)) this.#idle.push(instance);
    else void instance.stop();
    this.#waiting.shift()?.();
  }

  #forget(instance: Instance): void {
    this.#instances.delete(instance);
    this.#current.delete(instance);
    if (!this.#idle.includes(instance)) return;
    this.#idle = this.#idle.filter((each) => each !== instance);
    this.#lateLog.push(...instance.takeLog());
  }
}

/**
 * The trace id in an event's headers, or a new trace id:
 * https://docs.aws.amazon.com/xray/latest/devguide/xray-concepts.html
 */
const traceIdOf = (event: unknown): string => {
  const { headers } = (event ?? {}) as { headers?: Record<string, unknown> };
  const given = headers?.['x-amzn-trace-id'];
  if (typeof given === 'string' && given !== '') return given;
  const seconds = Math.floor(Date.now() / 1000).toString(16);
  return `Root=1-${seconds}-${randomHex(24)};Parent=${randomHex(16)};Sampled=0`;
};

/**
 * Returns `digits` random hex digits (at most 32). `randomUUID` takes a fraction of the time of `randomBytes`, because
 * Node makes UUIDs in advance.
 */
const randomHex = (digits: number): string => randomUUID().replaceAll('-', '').slice(0, digits);
