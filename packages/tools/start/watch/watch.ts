/** `npm start -- --watch`: makes the local service use changed source files without a restart. */
import { once } from 'node:events';
import path from 'node:path';
import { watch } from 'chokidar';
import { root } from '../run-script.ts';
import { messageOf, printable } from '../terminal.ts';
import { Reloader, type Service } from './reloader.ts';

/**
 * Whether a file is a source file. An editor's temporary file is not: its name begins with a dot, or ends in `.swp`,
 * `~` or the like.
 */
const isSource = (file: string): boolean => /^[^.].*\.(?:ts|js|json|yaml)$/.test(path.basename(file));

const packages = ['packages/cdk', 'packages/contract', 'packages/runtime'];
const reloaded = ['functions', 'infra', ...packages, 'schemas', 'cdk.json'];

/** What this process has read or loaded at its start: it cannot use a change. Commands, as in packages/tools/cli, can. */
const loaded = ['package.json', 'packages/tools/start', 'packages/emulator', 'packages/contract/document.ts'];

/**
 * What is not watched: functions/generated is made from the contract, only tests read schemas/released, and each page
 * load reads the script of the reference page.
 */
const ignored = [
  'functions/generated',
  'schemas/released',
  ...packages.map((folder) => `${folder}/test`),
  'packages/emulator/test',
  'packages/tools/start/reference/page.js',
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

/**
 * Starts watching the source files. Files that change are then reloaded into the running service.
 * @returns a function that stops watching
 */
export const startWatching = async (service: Service): Promise<() => Promise<void>> => {
  const reloader = new Reloader(service);
  const queue = new ReloadQueue((files) => {
    const needRestart = files.filter((file) => loaded.some((place) => `${file}/`.startsWith(`${place}/`)));
    if (needRestart.length > 0)
      console.log(printable(`Restart to apply what has changed in ${needRestart.join(', ')}.`));
    return needRestart.length > 0 && needRestart.length === files.length ? Promise.resolve('') : reloader.reload(files);
  });
  const close = await watchSources(root, (file) => queue.add(file));
  await queue.begin();
  return async () => {
    queue.close();
    await Promise.all([close(), reloader.close()]);
  };
};

/**
 * A reload begins when no file has changed for this many milliseconds, so that a `git checkout` causes only one reload.
 * It must be over 50: chokidar does not report a second change of a file within 50 ms of the first, so a reload must
 * read the file after that time.
 */
const quietTime = 60;

/**
 * Reloads changed files: changes in quick succession share one reload, and only one reload runs at a time. Prints a
 * line for each reload.
 */
export class ReloadQueue {
  readonly #reload: (files: string[]) => Promise<string>;
  /**
   * The files to reload next: those that have changed since the last reload began and, if that reload failed, also the
   * files of that reload.
   */
  readonly #files = new Set<string>();
  #firstChange: number | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isReloading = false;
  #isClosed = false;

  /** `reload` makes the service use the changed files, and returns a description of what it has reloaded, if any. */
  constructor(reload: (files: string[]) => Promise<string>) {
    this.#reload = reload;
  }

  /** Reloads once at the start, because the first reload takes longest, and files may have changed during the start. */
  async begin(): Promise<void> {
    await this.#run([], performance.now());
  }

  add(file: string): void {
    this.#files.add(file);
    this.#firstChange ??= performance.now();
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#next(), quietTime);
  }

  /**
   * Closes the queue. From then on, it starts no reload, and prints nothing about a reload that is still in progress.
   */
  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  #next(): void {
    this.#timer = undefined;
    if (this.#isReloading || this.#isClosed || this.#firstChange === undefined) return;
    const files = [...this.#files];
    const changedAt = this.#firstChange;
    this.#files.clear();
    this.#firstChange = undefined;
    void this.#run(files, changedAt);
  }

  async #run(files: string[], changedAt: number): Promise<void> {
    this.#isReloading = true;
    try {
      const what = await this.#reload(files);
      const seconds = (performance.now() - changedAt) / 1_000;
      if (files.length > 0 && what !== '' && !this.#isClosed)
        console.log(`Reloaded ${what} (${seconds.toFixed(2)} s).`);
    } catch (error) {
      // Include these files in the next reload, which may succeed: perhaps this reload failed because another file had
      // not been written yet, for example while somebody adds an operation.
      for (const file of files) this.#files.add(file);
      if (!this.#isClosed) {
        console.error(messageOf(error));
        console.error('Not reloaded: the service continues as before, until the next change.');
      }
    }
    this.#isReloading = false;
    if (this.#timer === undefined) this.#next();
  }
}
