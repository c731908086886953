import type { Store } from './dynamodb/store.ts';
import { httpApi, type Respond } from './gateway/api.ts';
import { Archives } from './lambda/archives.ts';
import { type FunctionOptions, Functions, type Outcome } from './lambda/functions.ts';
import type { FunctionSpec, ServedStack } from './served-stack.ts';

/** One version of the stack: what its template says to serve, and how many requests the version is handling. */
type Version = { stack: ServedStack; functions: Functions; respond: Respond; inProgress: number };

/**
 * Serves the newest version of a stack. An older version finishes the requests that it has begun, and is then closed.
 */
export class StackVersions {
  readonly #store: Store;
  readonly #options: FunctionOptions;
  /** Every version that is not closed: the newest, those with requests in progress, and one that is being loaded. */
  readonly #open = new Set<Version>();
  #newest?: Version;
  readonly #archives = new Archives();
  #lastChange: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(store: Store, options: FunctionOptions) {
    this.#store = store;
    this.#options = options;
  }

  /** The version that is served. @throws Error if no version has been added yet */
  get current(): Version {
    if (this.#newest === undefined) throw new Error('The stack is not served yet.');
    return this.#newest;
  }

  /**
   * Creates those tables of the stack that are missing, and serves it in place of the previous version. Functions that
   * did not change keep running; those that replace a loaded one are loaded first.
   * @throws Error with the reason if the stack cannot be served; the previous version is then still served
   */
  add(stack: ServedStack): Promise<void> {
    return this.#inTurn(async () => {
      setTimeZone(stack.functions);
      await this.#store.createTables(stack.tables, stack.account);
      await this.#add(stack);
    });
  }

  /**
   * Replaces the code of a function by the code in `folder`, and sets these variables.
   * @throws Error if there is no such function, or if its code cannot be loaded; what was served then stays
   */
  swap(functionName: string, folder: string, variables: Record<string, string> = {}): Promise<void> {
    const change = ({ inlineCode: _, ...spec }: FunctionSpec): FunctionSpec => ({
      ...spec,
      folder,
      environment: { ...spec.environment, ...variables },
    });
    return this.#inTurn(async () => {
      const { stack } = this.current;
      const functions = stack.functions.map((spec) => (spec.name === functionName ? change(spec) : spec));
      await this.#add({ ...stack, functions }, [functionName]);
    });
  }

  respond: Respond = (...request) => this.#during((version) => version.respond(...request));

  invoke(functionName: string, event: unknown): Promise<Outcome> {
    return this.#during(({ functions }) => functions.invokeByName(functionName, event));
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#open].map(({ functions }) => functions.close()));
    // If a version is being loaded, wait until its loading fails, as it must: the version's functions are closed.
    await this.#lastChange;
    this.#archives.remove();
  }

  /** Does one change at a time. */
  #inTurn(change: () => Promise<void>): Promise<void> {
    const done = this.#lastChange.then(change);
    this.#lastChange = done.catch(() => {});
    return done;
  }

  async #add(stack: ServedStack, swapped: string[] = []): Promise<void> {
    if (this.#isClosed) throw new Error('The stack was closed while a new version of it was loaded.');
    const specs = stack.functions.map((spec) => ({
      ...spec,
      ...(spec.inlineCode !== undefined && { folder: this.#archives.folderOfCode(spec.inlineCode) }),
      environment: { ...this.#store.environmentOf(spec), ...spec.environment },
    }));
    const functions = new Functions(specs, this.#options, this.#archives, this.#newest?.functions, swapped);
    const respond = httpApi(stack.api, (...event) => functions.invoke(...event), this.#options);
    const version: Version = { stack, functions, respond, inProgress: 0 };
    this.#open.add(version);
    try {
      await functions.warmUpReplacements();
    } catch (error) {
      await this.#end(version);
      throw error;
    }
    const replaced = this.#newest;
    this.#newest = version;
    if (replaced?.inProgress === 0) await this.#end(replaced);
  }

  async #during<Result>(work: (version: Version) => Promise<Result>): Promise<Result> {
    const version = this.current;
    version.inProgress += 1;
    try {
      return await work(version);
    } finally {
      version.inProgress -= 1;
      if (version.inProgress === 0 && version !== this.#newest) void this.#end(version);
    }
  }

  /** Closes the functions of a version of the stack, except those that another open version shares. */
  async #end(version: Version): Promise<void> {
    this.#open.delete(version);
    await version.functions.close([...this.#open].map(({ functions }) => functions));
  }
}

/**
 * Sets the time zone of this process, which the threads of functions share. On Lambda, it is UTC unless a function sets
 * TZ: https://docs.aws.amazon.com/lambda/latest/dg/configuration-envvars.html
 * @throws Error if the functions have different ones
 */
const setTimeZone = (functions: FunctionSpec[]): void => {
  const zones = Map.groupBy(functions, ({ environment: { TZ = 'UTC' } }) => TZ.replace(/^:/, ''));
  const all = [...zones].map(([zone, users]) => `${zone} (${users.map(({ name }) => name).join(', ')})`).join(', ');
  if (zones.size > 1) throw new Error(`Functions share a time zone here, but have ${all}. Set one by \`environment\`.`);
  process.env['TZ'] = [...zones.keys()][0] ?? 'UTC';
};
