import { type BuildContext, context, formatMessages, type Message } from 'esbuild';
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
    const entries = listDevEntries();
    const results = await Promise.allSettled(entries.map((entry) => this.#bundle(entry)));
    const failures = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []));
    if (failures.length > 0) throw new Error(await describe(failures));
    return new Map(results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : [])));
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

/** Describes each of esbuild's errors once, even if several entry files import the file that has the error. */
const describe = async (failures: { message: string; errors?: Message[] }[]): Promise<string> => {
  const errors = failures.flatMap((failure) => failure.errors ?? []);
  if (errors.length === 0) return failures.map(({ message }) => message).join('\n');
  const texts = await formatMessages(errors, { kind: 'error', color: process.stderr.isTTY });
  return [...new Set(texts)].join('').trimEnd();
};
