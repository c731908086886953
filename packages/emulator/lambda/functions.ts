import { functionArn } from '../account.ts';
import type { FunctionSpec, Target } from '../served-stack.ts';
import type { Outcome } from './instance.ts';
import { LambdaFunction } from './lambda-function.ts';

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
  invokeByName(functionName: string, event: unknown): Promise<Outcome> {
    return this.invoke({ functionName, arn: functionArn(functionName), version: '$LATEST' }, event);
  }

  /**
   * Loads one instance of each function that is not loaded yet. @throws Error that names a function that cannot be
   * loaded
   */
  async warmUp(): Promise<void> {
    await Promise.all([...this.#functions.values()].map((each) => each.warmUp()));
  }

  /**
   * Replaces a function's code with the code in `folder`, for later events.
   * @throws Error if the stack has no function with this name, or if the new code cannot be loaded (the function then
   * keeps the old code)
   */
  async swap(functionName: string, folder: string): Promise<void> {
    await this.#find(functionName).swap(folder);
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
