import os from 'node:os';
import { isDeepStrictEqual } from 'node:util';
import { type FunctionSpec, functionArn, newTraceRoot, randomHex, type Target } from '../served-stack.ts';
import { Archives } from './archives.ts';
import { Instance, type Outcome, payloadLimit } from './instance.ts';
import { type LogLine, unfold } from './reports.ts';

export type { LogLine, Outcome };

/**
 * The functions of a version of a stack. A caller may change a function's `timeout` in its spec; the new value applies
 * to later events.
 */
export class Functions {
  readonly #functions: Map<string, LambdaFunction>;
  /** The functions that `warmUpReplacements` loads. */
  readonly #replacements: LambdaFunction[];
  #isWarm: boolean;

  /**
   * Functions of the previous version (`earlier`) are reused if their specs are unchanged, apart from those in `swapped`.
   * `archives` unzips code; whoever hands it in removes what it has unzipped.
   * @throws Error if a function in `swapped` does not exist
   */
  constructor(
    specs: FunctionSpec[],
    { certificates = [], debug = false, maxInstances = 8 }: FunctionOptions = {},
    archives = new Archives(),
    earlier?: Functions,
    swapped: string[] = [],
  ) {
    // More threads than processors would only make each other's loading time out.
    const loading = new Turns(debug ? Number.POSITIVE_INFINITY : os.availableParallelism());
    const shared = { certificates, debug, maxInstances, archives, loading };
    const before = earlier === undefined ? new Map<string, LambdaFunction>() : earlier.#functions;
    this.#functions = new Map(
      specs.map((spec) => {
        const same = swapped.includes(spec.name) ? undefined : before.get(spec.name);
        return [spec.name, same && isDeepStrictEqual(same.spec, spec) ? same : new LambdaFunction(spec, shared)];
      }),
    );
    for (const name of swapped) this.#find(name);
    this.#isWarm = earlier === undefined ? false : earlier.#isWarm;
    this.#replacements = [...this.#functions].flatMap(([name, each]) => {
      const replaced = before.get(name);
      if (replaced === each) return [];
      return swapped.includes(name) || (replaced ? replaced.isLoaded : this.#isWarm) ? [each] : [];
    });
  }

  /**
   * Passes an event to the function that `target` names. Calls `onStart` when an instance for it is there.
   * @throws Error if the stack has no function with that name
   */
  async invoke(target: Target, event: unknown, onStart?: () => void): Promise<Outcome> {
    return this.#find(target.functionName).invoke(target, event, onStart);
  }

  /**
   * Invokes the unpublished version ($LATEST) of a function. @throws Error if the stack has no function with this name
   */
  async invokeByName(functionName: string, event: unknown): Promise<Outcome> {
    const fn = this.#find(functionName);
    return fn.invoke({ functionName, arn: functionArn(fn.spec.account, functionName), version: '$LATEST' }, event);
  }

  /**
   * Loads each function that has not been loaded yet; otherwise, its first event loads it. @throws Error with the log of
   * each function that cannot be loaded
   */
  async warmUp(): Promise<void> {
    this.#isWarm = true;
    await loadAll([...this.#functions.values()]);
  }

  /**
   * Loads the functions in `swapped`, and each that replaces a loaded one, so that code that is broken does not replace
   * what runs; if the previous version was warmed up, loads new functions, too. @throws Error as `warmUp` does
   */
  async warmUpReplacements(): Promise<void> {
    await loadAll(this.#replacements);
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

export type FunctionOptions = {
  /** Certificate authorities (PEM) that the functions trust besides Node's default ones. */
  certificates?: string[];
  /** If true, neither functions nor requests time out, so that a debugger can pause the functions. */
  debug?: boolean;
  /** How many instances of one function may run at the same time (8 by default). Further events wait. */
  maxInstances?: number;
};

const loadAll = async (functions: LambdaFunction[]): Promise<void> => {
  const loaded = await Promise.allSettled(functions.map((each) => each.warmUp()));
  const reasons = loaded.flatMap((each) => (each.status === 'rejected' ? [each.reason.message] : []));
  if (reasons.length > 0) throw new Error(reasons.join('\n'));
};

/** Lets only `free` tasks run at the same time; the others wait in line. */
class Turns {
  readonly #waiting: (() => void)[] = [];
  #free: number;

  constructor(free: number) {
    this.#free = free;
  }

  get areTaken(): boolean {
    return this.#free <= 0;
  }

  async take(): Promise<void> {
    this.#free -= 1;
    if (this.#free < 0) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  giveBack(): void {
    this.#free += 1;
    this.#waiting.shift()?.();
  }
}

type Shared = Required<FunctionOptions> & { archives: Archives; loading: Turns };

/** A Lambda function: several instances, each of which handles one event at a time. */
class LambdaFunction {
  readonly spec: FunctionSpec;
  readonly #shared: Shared;
  /** Every instance that has not ended. */
  readonly #instances = new Set<Instance>();
  #idle: Instance[] = [];
  /** The events that may have an instance at the same time. */
  readonly #turns: Turns;
  /** Lines logged by instances that ended between two events. `invoke` returns them with the next event's lines. */
  readonly #lateLog: LogLine[] = [];
  #isClosed = false;
  /** Whether an instance has been loaded. */
  isLoaded = false;

  constructor(spec: FunctionSpec, shared: Shared) {
    this.spec = spec;
    this.#shared = shared;
    this.#turns = new Turns(shared.maxInstances);
  }

  /**
   * Invokes the function. If an instance has ended since the last event, the returned log begins with the last lines of
   * that instance, which no earlier call has returned.
   */
  async invoke(target: Target, event: unknown, onStart = () => {}): Promise<Outcome> {
    const payload = JSON.stringify(event);
    if (Buffer.byteLength(payload) >= payloadLimit)
      return { failure: 'the event is over 6 MB', tooLarge: true, log: [] };
    const [began, mustWait] = [performance.now(), this.#turns.areTaken];
    const instance = await this.#acquire();
    const waited = mustWait ? [waitLine(this.spec.name, performance.now() - began, this.#shared.maxInstances)] : [];
    onStart();
    try {
      const outcome = await instance.run(target, payload, traceIdOf(event));
      return { ...outcome, log: [...this.#lateLog.splice(0), ...waited, ...outcome.log] };
    } finally {
      this.#release(instance);
    }
  }

  /**
   * Loads one instance, so that errors show before the first request. @throws Error if the function cannot be loaded
   */
  async warmUp(): Promise<void> {
    if (this.isLoaded) return;
    const instance = await this.#acquire();
    const failure = await instance.loaded;
    this.#release(instance);
    if (failure === undefined) return;
    const { name, handler, folder } = this.spec;
    const what = `The function ${name} (handler ${handler} in ${folder}) cannot be loaded: ${failure}`;
    const log = instance.takeLog().flatMap((line) => {
      const { text, stacks } = unfold(line);
      return [text, ...stacks];
    });
    throw new Error([what, ...log].join('\n'));
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#instances].map((instance) => instance.stop()));
  }

  #mustBeOpen(): void {
    if (this.#isClosed) throw new Error(`The function ${this.spec.name} was closed.`);
  }

  /** Starts an instance when it is this function's turn to load one. @throws Error if a zip file cannot be read */
  async #start(): Promise<Instance> {
    const { certificates, debug, archives, loading } = this.#shared;
    const code = archives.folderOf(this.spec.folder);
    await loading.take();
    if (this.#isClosed) loading.giveBack();
    this.#mustBeOpen();
    const instance = new Instance(this.spec, code, { certificates, debug }, (ended) => this.#forget(ended));
    this.#instances.add(instance);
    void instance.loaded.then((failure) => {
      this.isLoaded ||= failure === undefined;
      loading.giveBack();
    });
    return instance;
  }

  async #acquire(): Promise<Instance> {
    await this.#turns.take();
    try {
      this.#mustBeOpen();
      return this.#idle.pop() ?? (await this.#start());
    } catch (error) {
      this.#turns.giveBack();
      throw error;
    }
  }

  #release(instance: Instance): void {
    if (this.#instances.has(instance)) this.#idle.push(instance);
    this.#turns.giveBack();
  }

  #forget(instance: Instance): void {
    this.#instances.delete(instance);
    if (!this.#idle.includes(instance)) return;
    this.#idle = this.#idle.filter((each) => each !== instance);
    this.#lateLog.push(...instance.takeLog());
  }
}

const waitLine = (functionName: string, milliseconds: number, instances: number): LogLine => {
  const wait = `The event waited ${Math.ceil(milliseconds)} ms for one of ${instances} instances.`;
  return { functionName, level: 'WARN', message: `${wait} To have more, set the option \`maxInstances\`.` };
};

/**
 * The trace id in an event's headers, or a new trace id:
 * https://docs.aws.amazon.com/xray/latest/devguide/xray-concepts.html
 */
const traceIdOf = (event: unknown): string => {
  const given: unknown = Object(Object(event).headers)['x-amzn-trace-id'];
  if (typeof given === 'string' && given !== '') return given;
  return `${newTraceRoot()};Parent=${randomHex(16)};Sampled=0`;
};
