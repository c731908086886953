/**
 * A reload begins when no file has changed for this many milliseconds, so that a `git checkout` causes only one reload.
 * More than 50, because chokidar does not report a second change of a file within 50 ms.
 */
const quietTime = 60;

/**
 * Reloads changed files: once for changes shortly after each other, and one reload at a time. Prints a line for each.
 */
export class ReloadQueue {
  readonly #reload: (files: string[]) => Promise<string>;
  /**
   * The files to reload next: those that changed since the last reload began, and the files of the last reload if it
   * failed.
   */
  readonly #files = new Set<string>();
  #firstChange: number | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isReloading = false;
  #isClosed = false;

  /** `reload` serves the changes in the files, and returns in words what it has reloaded. */
  constructor(reload: (files: string[]) => Promise<string>) {
    this.#reload = reload;
  }

  /** Reloads once without a changed file: the first time takes longest, and files may have changed during the start. */
  async begin(): Promise<void> {
    await this.#run([], performance.now());
  }

  add(file: string): void {
    this.#files.add(file);
    this.#firstChange ??= performance.now();
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#next(), quietTime);
  }

  /** Closes the queue, which then starts no further reload, and prints nothing about a reload in progress. */
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
      if (files.length > 0 && !this.#isClosed) console.log(`Reloaded ${what} (${seconds.toFixed(2)} s).`);
    } catch (error) {
      // Include these files in the next reload, because a reload may fail only until another file is written, as for a
      // new operation.
      for (const file of files) this.#files.add(file);
      if (!this.#isClosed) {
        console.error(error instanceof Error ? error.message : error);
        console.error('Not reloaded: what was served before is served on, until the next change.');
      }
    }
    this.#isReloading = false;
    if (this.#timer === undefined) this.#next();
  }
}
