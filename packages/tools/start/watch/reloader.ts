import path from 'node:path';
import { bundle } from '@lambda-service/cdk/bundling';
import { generator, isCurrent } from '@lambda-service/cdk/generated-code';
import { type BuildContext, context as prepareBuild } from 'esbuild';
import type { Emulator } from 'http-api-emulator';
import { type Bundle, bundleOf, bundleOptions, keepBundle, sha256Of, writeBundle } from '../bundles.ts';
import { runScript, synthesize } from '../run-script.ts';
import type { Synthesis, Synthesized } from '../synthesize.ts';
import { withoutHash } from '../terminal.ts';

/** The running service. `entries` has the entry file of each function, by the function's name. */
export type Service = Omit<Synthesis, 'bundles'> & {
  emulator: Emulator;
  entries: Synthesized['entries'];
  /** Called after each reload of the stack, with all scopes of the contract, separated by spaces. */
  onScope: (scope: string) => void;
};

/** Makes a running service use changed source files without a restart. */
export class Reloader {
  readonly #service: Service;
  readonly #stop = new AbortController();
  #entries: Record<string, string>;
  /** esbuild keeps the files that it has parsed, so each further run takes a third of the time of the first run. */
  readonly #builds = new Map<string, Promise<BuildContext>>();
  /**
   * Whether packages/cdk/bundling.ts has changed. If so, this process still has the old esbuild options, so from then on,
   * each reload bundles in a new child process, which has the new options.
   */
  #isBundlingOutdated = false;

  constructor(service: Service) {
    this.#service = service;
    this.#entries = service.entries;
  }

  /**
   * Makes the service use the changed `files`, whose paths are relative to the project's root. Wait for the end of one
   * call before the next.
   * @returns a description of what was reloaded
   * @throws Error with a message for the user; the service then continues as before
   */
  async reload(files: string[]): Promise<string> {
    const hasChanged = (start: string): boolean => files.some((file) => file.startsWith(start));
    this.#isBundlingOutdated ||= hasChanged('packages/cdk/bundling.ts');
    if (!isCurrent()) await runScript(generator, this.#stop.signal);
    const bundling = Object.values(this.#entries).map(async (entry) => [entry, await this.#bundle(entry)] as const);
    // Wait for all, so that none is still in progress when the next reload begins.
    await Promise.allSettled(bundling);
    const bundles = new Map(await Promise.all(bundling));
    const isStack =
      ['schemas/', 'packages/contract/', 'packages/cdk/', 'infra/', 'cdk.json'].some(hasChanged) ||
      this.#isBundlingOutdated;
    return isStack ? this.#reloadStack(bundles) : this.#swapFunctions(bundles);
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await Promise.allSettled([...this.#builds.values()].map(async (build) => (await build).dispose()));
  }

  /** @throws Error with the file and line of each error */
  async #bundle(entry: string): Promise<Bundle> {
    const options = bundleOptions(entry, this.#service.debug);
    // The entry may ask for other modules than before.
    const key = [entry, ...Object.keys(options.alias)].join();
    const build = this.#builds.get(key) ?? prepareBuild(options);
    this.#builds.set(key, build);
    return bundleOf(entry, (await build).rebuild());
  }

  async #reloadStack(bundles: Map<string, Bundle>): Promise<string> {
    const { debug, emulator, assets, context, onScope } = this.#service;
    // Hand over the bundles, because the files may change again before the new process could bundle them.
    const given = this.#isBundlingOutdated ? [] : [...bundles];
    const files = await Promise.all(
      given.map(async ([entry, made]) => [entry, await writeBundle(assets, made)] as const),
    );
    const { template, entries, scope } = await synthesize(
      { assets, context, debug, bundles: files },
      this.#stop.signal,
    );
    await emulator.reload({ template, assets });
    onScope(scope);
    this.#entries = entries;
    for (const entry of Object.values(entries)) keepBundle(entry, bundles.get(entry) ?? (await this.#bundle(entry)));
    return `the stack, which serves ${emulator.routeKeys.join(', ')}`;
  }

  async #swapFunctions(bundles: Map<string, Bundle>): Promise<string> {
    const changed = Object.entries(this.#entries).flatMap(([name, entry]) => {
      const made = bundles.get(entry);
      return made === undefined || Buffer.compare(bundle(entry), made.code) === 0 ? [] : [{ name, entry, made }];
    });
    const swaps = await Promise.allSettled(
      changed.map(async ({ name, entry, made }) => {
        const folder = path.dirname(await writeBundle(this.#service.assets, made));
        await this.#service.emulator.swap(name, folder, { BUNDLE_SHA256: sha256Of(made.code) });
        keepBundle(entry, made);
      }),
    );
    const reasons = swaps.flatMap((swap) => (swap.status === 'rejected' ? [String(swap.reason.message)] : []));
    if (reasons.length > 0) throw new Error(reasons.join('\n'));
    return changed.map(({ name }) => withoutHash(name)).join(', ') || 'nothing, because no bundle changed';
  }
}
