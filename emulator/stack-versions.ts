import type { Store } from './dynamodb/store.ts';
import { HttpApi, type Respond } from './gateway/api.ts';
import type { Clock } from './gateway/throttle.ts';
import { Functions, type Outcome } from './lambda/functions.ts';
import type { ServedStack } from './served-stack.ts';

/** What one template says to serve, and the number of requests that it handles at the moment. */
type Version = { stack: ServedStack; functions: Functions; api: HttpApi; inProgress: number };

type Options = {
  store: Store;
  /** Certificate authorities (PEM) that the functions trust besides Node's default ones. */
  certificates?: string[];
  /** If true, a debugger may pause the functions, and nothing times out. */
  debug?: boolean;
  /** If given, requests are throttled by this clock. */
  throttleClock?: Clock;
};

/** Serves the newest version of a stack. An older one finishes the requests that it has begun, and is then closed. */
export class StackVersions {
  readonly #options: Options;
  /** Every version that is not closed: the newest, those with requests in progress, and one that is being loaded. */
  readonly #open = new Set<Version>();
  #newest?: Version;
  #lastAdded: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(options: Options) {
    this.#options = options;
  }

  /** The newest version's stack. @throws Error if there is none yet */
  get stack(): ServedStack {
    return this.#current().stack;
  }

  /**
   * Creates the stack's tables if they are missing, loads its functions, and serves it from then on. Functions that are
   * the same as in the version before keep running.
   * @throws Error with the reason if the stack cannot be served; the version before is then served as before
   */
  add(stack: ServedStack): Promise<void> {
    const added = this.#lastAdded.then(() => this.#add(stack));
    this.#lastAdded = added.catch(() => {});
    return added;
  }

  respond: Respond = (...request) => this.#during(({ api }) => api.respond(...request));

  invoke(functionName: string, event: unknown): Promise<Outcome> {
    return this.#during(({ functions }) => functions.invokeByName(functionName, event));
  }

  /**
   * Replaces a function's code. @throws Error if the stack has no function with this name, or if the new code cannot be
   * loaded (the old code then stays)
   */
  async swap(functionName: string, folder: string): Promise<void> {
    await this.#current().functions.swap(functionName, folder);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#open].map(({ functions }) => functions.close()));
    // Wait for a version that is being loaded: its loading fails now, because its functions are closed.
    await this.#lastAdded;
  }

  async #add(stack: ServedStack): Promise<void> {
    const { store, certificates, throttleClock, debug } = this.#options;
    await store.createTables(stack.tables);
    this.#mustBeOpen();
    const specs = stack.functions.map((spec) => ({
      ...spec,
      environment: { ...store.environmentOf(spec), ...spec.environment },
    }));
    const functions = new Functions(specs, certificates, debug, this.#newest?.functions);
    const api = new HttpApi(stack.api, (target, event) => functions.invoke(target, event), throttleClock, debug);
    const version: Version = { stack, functions, api, inProgress: 0 };
    this.#open.add(version);
    try {
      await functions.warmUp();
      this.#mustBeOpen();
    } catch (error) {
      await this.#end(version);
      throw error;
    }
    const replaced = this.#newest;
    this.#newest = version;
    if (replaced?.inProgress === 0) await this.#end(replaced);
  }

  async #during<Result>(work: (version: Version) => Promise<Result>): Promise<Result> {
    const version = this.#current();
    version.inProgress += 1;
    try {
      return await work(version);
    } finally {
      version.inProgress -= 1;
      if (version.inProgress === 0 && version !== this.#newest) void this.#end(version);
    }
  }

  /** Closes the functions that no other version shares. */
  async #end(version: Version): Promise<void> {
    this.#open.delete(version);
    await version.functions.close([...this.#open].map(({ functions }) => functions));
  }

  #current(): Version {
    if (this.#newest === undefined) throw new Error('The stack is not served yet.');
    return this.#newest;
  }

  #mustBeOpen(): void {
    if (this.#isClosed) throw new Error('The stack was closed while a new version of it was loaded.');
  }
}
