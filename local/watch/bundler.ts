import { type BuildContext, context, formatMessages, type Message } from 'esbuild';
import { listDevEntries } from '../../infra/bundling.ts';
import { bundleOptions } from '../prebuild.ts';
import { splitOutput } from '../stack-traces.ts';

/** The bundle of a function. `map` is its source map as JSON, or undefined if the code has its source map inline. */
export type Bundle = { code: Buffer; map: string | undefined };

/** Bundles the functions again and again. esbuild keeps what it has parsed, so each time takes a third of the first. */
export class Bundler {
  readonly #debug: boolean;
  readonly #contexts = new Map<string, Promise<BuildContext>>();

  /** With `debug`, the bundles have source maps. */
  constructor(debug: boolean) {
    this.#debug = debug;
  }

  /** Bundles every entry. @returns the bundles by entry @throws Error whose message has the file and line of each error */
  async bundle(): Promise<Map<string, Bundle>> {
    const entries = listDevEntries();
    const results = await Promise.allSettled(entries.map((entry) => this.#bundle(entry)));
    const failures = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []));
    if (failures.length > 0) throw new Error(await describe(failures));
    return new Map(results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : [])));
  }

  /** Ends esbuild's child process. */
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

/** Describes esbuild's errors, each of them once, because several entries may import the file that has the error. */
const describe = async (failures: { message: string; errors?: Message[] }[]): Promise<string> => {
  const errors = failures.flatMap((failure) => failure.errors ?? []);
  if (errors.length === 0) return failures.map(({ message }) => message).join('\n');
  const texts = await formatMessages(errors, { kind: 'error', color: process.stderr.isTTY });
  return [...new Set(texts)].join('').trimEnd();
};
