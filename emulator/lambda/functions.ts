import { functionArn } from '../account.ts';
import type { FunctionSpec, Target } from '../served-stack.ts';
import type { Outcome } from './instance.ts';
import { LambdaFunction } from './lambda-function.ts';

export type { LogLine, Outcome } from './instance.ts';

/** The functions of a stack. If the `timeout` of a spec is changed, the new value applies to later events. */
export class Functions {
  readonly #functions: Map<string, LambdaFunction>;

  /** The functions trust `certificates` (PEM) besides Node's default certificate authorities. */
  constructor(specs: FunctionSpec[], certificates: string[] = []) {
    this.#functions = new Map(specs.map((spec) => [spec.name, new LambdaFunction(spec, certificates)]));
  }

  /** @throws Error if the stack has no such function */
  async invoke(target: Target, event: unknown): Promise<Outcome> {
    return this.#find(target.functionName).invoke(target, event);
  }

  /** @throws Error if the stack has no such function */
  invokeByName(functionName: string, event: unknown): Promise<Outcome> {
    return this.invoke({ functionName, arn: functionArn(functionName), version: '$LATEST' }, event);
  }

  /** Loads one instance of each function. @throws Error that names the function that cannot be loaded */
  async warmUp(): Promise<void> {
    await Promise.all([...this.#functions.values()].map((each) => each.warmUp()));
  }

  /**
   * Replaces a function's code with the code in `folder`, for later events.
   * @throws Error if there is no such function, or if the new code cannot be loaded (the old code then stays)
   */
  async swap(functionName: string, folder: string): Promise<void> {
    await this.#find(functionName).swap(folder);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#functions.values()].map((each) => each.close()));
  }

  #find(name: string): LambdaFunction {
    const found = this.#functions.get(name);
    if (found !== undefined) return found;
    throw new Error(`The stack has no function ${name}. It has ${[...this.#functions.keys()].join(', ') || 'none'}.`);
  }
}
