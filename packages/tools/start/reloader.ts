/** `npm start -- --watch`: makes the local service use changed source files without a restart. */
import { once } from 'node:events';
import path from 'node:path';
import { listEntries } from '@lambda-service/cdk/bundling';
import { generator, isCurrent } from '@lambda-service/cdk/generated-code';
import { watch } from 'chokidar';
import { type BuildContext, context as prepareBuild } from 'esbuild';
import type { Emulator } from 'http-api-emulator';
import { ReloadQueue, type Serving, say } from 'http-api-emulator/command';
import { runToEnd, type Stacks } from '../app.ts';
import { withoutHash } from '../terminal.ts';
import { type Bundle, bundleOf, bundleOptions, keepBundle, whenLoaded, writeBundle, writeBundles } from './bundles.ts';

/** The running service. */
export type Service = {
  debug: boolean;
  emulator: Emulator;
  /** The folder to which the app writes. */
  outdir: string;
  /** The bundles that the functions run, by their entries. */
  bundles: Map<string, Bundle>;
  /** Runs the app with these bundles. */
  synthesize: (bundles: Promise<Record<string, string>>, signal: AbortSignal) => Promise<Stacks>;
  /** Serves what the app has written. */
  reloadStack: (stacks: Stacks) => Promise<void>;
};

/**
 * Whether a file is a source file. An editor's temporary file is not: its name begins with a dot, or ends in `.swp`,
 * `~` or the like.
 */
const isSource = (file: string): boolean => /^[^.].*\.(?:ts|js|json|yaml)$/.test(path.basename(file));

const packages = ['packages/cdk', 'packages/contract', 'packages/runtime'];
const reloaded = ['functions', 'infra', ...packages, 'schemas', 'cdk.json'];

/** What this process has read or loaded at its start: it cannot use a change. Commands, as in packages/tools/cli, can. */
const loaded = [
  'package.json',
  'packages/tools/start',
  'packages/tools/app.ts',
  'packages/tools/process-group.ts',
  'packages/tools/terminal.ts',
  'packages/emulator',
  'packages/contract/document.ts',
  'packages/contract/page',
  'packages/cdk/bundling.ts',
];

/**
 * What is not watched: functions/generated is made from the contract, only tests read schemas/released, and each load of
 * the reference page reads its script.
 */
const ignored = [
  'functions/generated',
  'schemas/released',
  ...packages.map((folder) => `${folder}/test`),
  'packages/emulator/test',
  'packages/contract/page/page.js',
];

/**
 * Watches the service's source files in `root` with chokidar. On Linux, fs.watch would lose track of a file that an
 * editor replaces.
 * @param onChange is called with the path, relative to `root`, of each file that is changed, added or removed. A new
 * file or folder in a new folder may be missed until something directly in that new folder changes; for a missed file,
 * saving it again is enough (https://github.com/paulmillr/chokidar/issues/1471).
 * @returns a function that stops watching
 */
export const watchSources = async (root: string, onChange: (file: string) => void): Promise<() => Promise<void>> => {
  const places = [...reloaded, ...loaded].map((place) => path.join(root, place));
  const watcher = watch(places, {
    ignoreInitial: true,
    ignored: (file, stats) =>
      ignored.includes(path.relative(root, file)) || (stats?.isFile() === true && !isSource(file)),
  });
  watcher.on('all', (event, file) => event.endsWith('Dir') || onChange(path.relative(root, file)));
  await once(watcher, 'ready');
  return () => watcher.close();
};

/** Reloads source files that change into the running service, until the process ends. */
export const startWatching = async (service: Service, serving: Serving): Promise<void> => {
  const reloader = new Reloader(service);
  const queue = new ReloadQueue((files) => {
    const isLoaded = (file: string) => loaded.some((place) => `${file}/`.startsWith(`${place}/`));
    const needRestart = files.filter(isLoaded);
    if (needRestart.length > 0) say(`Restart to apply what has changed in ${needRestart.join(', ')}.`);
    return needRestart.length > 0 && needRestart.length === files.length ? Promise.resolve('') : reloader.reload(files);
  });
  serving.defer(() => reloader.close());
  serving.defer(await watchSources('', (file) => queue.add(file)));
  serving.defer(() => queue.close());
  await queue.begin();
};

/** Makes a running service use changed source files without a restart. */
class Reloader {
  readonly #service: Service;
  readonly #stop = new AbortController();
  /** esbuild keeps the files that it has parsed, so each further run takes a third of the time of the first run. */
  readonly #builds = new Map<string, Promise<BuildContext>>();

  constructor(service: Service) {
    this.#service = service;
  }

  /**
   * Makes the service use the changed `files`, whose paths are relative to the project's root. Wait for the end of one
   * call before the next.
   * @returns a description of what was reloaded
   * @throws Error with a message for the user; the service then continues as before
   */
  async reload(files: string[]): Promise<string> {
    const hasChanged = (start: string): boolean => files.some((file) => file.startsWith(start));
    if (!isCurrent()) await runToEnd('.', [process.execPath, ...generator], this.#stop.signal);
    const isStack =
      ['schemas/', 'packages/contract/', 'packages/cdk/', 'infra/', 'cdk.json'].some(hasChanged) ||
      // If two entries have the same bundle, only the app knows which function has which.
      this.#entries().size < this.#service.bundles.size;
    if (isStack) return this.#reloadStack(this.#bundle(listEntries()));
    const used = new Set(this.#functions().map(({ entry }) => entry));
    // The first run takes longest, so do it for every entry before a change needs it.
    return this.#swapFunctions(await this.#bundle(files.length === 0 ? listEntries() : [...used]));
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await Promise.allSettled([...this.#builds.values()].map(async (build) => (await build).dispose()));
  }

  /** The entries by the hashes of their bundles. */
  #entries(): Map<string, string> {
    return new Map(this.#service.bundles.entries().map(([entry, { sha256 }]) => [sha256, entry]));
  }

  /** The functions whose code is a bundle, each with its entry. */
  #functions(): { name: string; entry: string; sha256: string }[] {
    const entries = this.#entries();
    return this.#service.emulator.stack.functions.flatMap(({ name, environment: { BUNDLE_SHA256: sha256 = '' } }) => {
      const entry = entries.get(sha256);
      return entry === undefined ? [] : [{ name, entry, sha256 }];
    });
  }

  /** @throws Error with the file and line of each error */
  async #bundle(entries: string[]): Promise<Map<string, Bundle>> {
    const bundling = entries.map(async (entry) => [entry, await this.#bundleEntry(entry)] as const);
    // Wait for all, so that none is still in progress when the next reload begins.
    await Promise.allSettled(bundling);
    return new Map(await Promise.all(bundling));
  }

  async #bundleEntry(entry: string): Promise<Bundle> {
    const options = bundleOptions(entry, this.#service.debug);
    // The entry may ask for other modules than before.
    const key = [entry, ...Object.keys(options.alias)].join();
    const build = this.#builds.get(key) ?? prepareBuild(options);
    this.#builds.set(key, build);
    return bundleOf(entry, (await build).rebuild());
  }

  #keep(entry: string, made: Bundle): void {
    keepBundle(entry, made);
    this.#service.bundles.set(entry, made);
  }

  async #reloadStack(bundling: Promise<Map<string, Bundle>>): Promise<string> {
    const { emulator, outdir, synthesize, reloadStack } = this.#service;
    const written = bundling.then((bundles) => writeBundles(outdir, bundles));
    const synthesizing = synthesize(written, this.#stop.signal);
    await Promise.allSettled([written, synthesizing]);
    // If both fail, the app does because it got no bundles.
    const bundles = await bundling;
    await whenLoaded(reloadStack(await synthesizing), bundles.values());
    this.#service.bundles.clear();
    for (const [entry, made] of bundles) this.#keep(entry, made);
    return `the stack, which serves ${emulator.routeKeys.join(', ')}`;
  }

  async #swapFunctions(bundles: Map<string, Bundle>): Promise<string> {
    const changed = this.#functions().flatMap(({ name, entry, sha256 }) => {
      const made = bundles.get(entry);
      return made === undefined || made.sha256 === sha256 ? [] : [{ name, entry, made }];
    });
    const swaps = await Promise.allSettled(
      changed.map(async ({ name, entry, made }) => {
        const folder = path.dirname(await writeBundle(this.#service.outdir, made));
        await whenLoaded(this.#service.emulator.swap(name, folder, { BUNDLE_SHA256: made.sha256 }), [made]);
        this.#keep(entry, made);
      }),
    );
    const reasons = swaps.flatMap((swap) => (swap.status === 'rejected' ? [String(swap.reason.message)] : []));
    if (reasons.length > 0) throw new Error(reasons.join('\n'));
    return changed.map(({ name }) => withoutHash(name)).join(', ') || 'nothing, because no bundle changed';
  }
}
