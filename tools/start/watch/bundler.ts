import { type BuildContext, context } from 'esbuild';
import { listDevEntries } from '../../../infra/bundling.ts';
import { bundleOptions } from '../prebuild.ts';
import { splitOutput } from '../stack-traces.ts';

/** A function's bundle. `map` is the source map as JSON, or undefined if `code` contains the source map. */
export type Bundle = { code: Buffer; map: string | undefined };

/**
 * Bundles the functions again and again. esbuild keeps the files that it has parsed, so each further run takes a third
 * of the time that the first run takes.
 */
export class Bundler {
  readonly #debug: boolean;
  readonly #contexts = new Map<string, Promise<BuildContext>>();

  constructor(debug: boolean) {
    this.#debug = debug;
  }

  /** Bundles every entry file. @returns the bundles by entry file @throws Error with the file and line of each error */
  async bundle(): Promise<Map<string, Bundle>> {
    const results = await Promise.allSettled(listDevEntries().map((entry) => this.#bundle(entry)));
    return new Map(
      results.map((result) => {
        if (result.status === 'rejected') throw result.reason;
        return result.value;
      }),
    );
  }

  async close(): Promise<void> {
    await Promise.allSettled([...this.#contexts.values()].map(async (each) => (await each).dispose()));
  }

  async #bundle(entry: string): Promise<[entry: string, bundle: Bundle]> {
    const created = this.#contexts.get(entry) ?? context({ ...bundleOptions(entry, this.#debug), logLevel: 'silent' });
    this.#contexts.set(entry, created);
    const { code, map } = splitOutput(entry, (await (await created).rebuild()).outputFiles ?? []);
    return [entry, { code: Buffer.from(code.contents), map: map?.text }];
  }
}
