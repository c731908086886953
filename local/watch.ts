/** `npm start -- --watch`: serves changed source files without a restart. */
import { once } from 'node:events';
import path from 'node:path';
import { watch } from 'chokidar';
import { Reloader, root, type Service } from './reload.ts';

/** How long (in milliseconds) no file may change before a reload, so that a `git checkout` causes one. */
const quietTime = 50;

/** Whether a file is a source. Editors give their temporary files other names: .main.ts.swp, main.ts~, 4913, .#main.ts. */
const isSource = (file: string): boolean => /^[^.].*\.(?:ts|js|json|yaml)$/.test(path.basename(file));

/** Folders without sources: one is made by each reload of the contract, the other is only read by tests. */
const ignored = ['functions/generated', 'schemas/released'].map((folder) => path.join(root, folder));

/** Watches functions/, infra/ and schemas/ for the service. @returns a function that stops this */
export const watchSources = async (service: Service): Promise<() => Promise<void>> => {
  const reloads = new Reloads(new Reloader(service));
  const folders = ['functions', 'infra', 'schemas'].map((folder) => path.join(root, folder));
  const watcher = watch(folders, {
    ignoreInitial: true,
    ignored: (file, stats) => ignored.includes(file) || (stats?.isFile() === true && !isSource(file)),
  });
  watcher.on('all', (event, file) => event.endsWith('Dir') || reloads.add(path.relative(root, file)));
  await once(watcher, 'ready');
  await reloads.begin();
  return async () => {
    await Promise.all([watcher.close(), reloads.close()]);
  };
};

/** Reloads changed files: once for changes shortly after each other, and one reload at a time. */
class Reloads {
  readonly #reloader: Reloader;
  /** The files that changed since the last reload began, and those of a reload that failed. */
  #files = new Set<string>();
  #firstChange?: number | undefined;
  #timer?: NodeJS.Timeout | undefined;
  #isReloading = false;
  #isClosed = false;

  constructor(reloader: Reloader) {
    this.#reloader = reloader;
  }

  /** Bundles for the first time, which takes longest, and serves functions that have changed during the start. */
  async begin(): Promise<void> {
    await this.#reload([], performance.now());
  }

  add(file: string): void {
    this.#files.add(file);
    this.#firstChange ??= performance.now();
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#next(), quietTime);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#reloader.close();
  }

  #next(): void {
    this.#timer = undefined;
    if (this.#isReloading || this.#isClosed || this.#firstChange === undefined) return;
    const files = [...this.#files];
    const changedAt = this.#firstChange;
    this.#files.clear();
    this.#firstChange = undefined;
    void this.#reload(files, changedAt);
  }

  async #reload(files: string[], changedAt: number): Promise<void> {
    this.#isReloading = true;
    try {
      const what = await this.#reloader.reload(files);
      const seconds = (performance.now() - changedAt) / 1_000;
      if (files.length > 0) console.log(`Reloaded ${what} (${seconds.toFixed(2)} s).`);
    } catch (error) {
      // The next reload has to take these files, too: the stack may lack a function that is written next.
      for (const file of files) this.#files.add(file);
      if (!this.#isClosed) {
        console.error(error instanceof Error ? error.message : error);
        console.error('Not reloaded: what was served before is served on, until the next change.');
      }
    } finally {
      this.#isReloading = false;
      if (this.#timer === undefined) this.#next();
    }
  }
}
