import { messageOf } from './text.ts';

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
