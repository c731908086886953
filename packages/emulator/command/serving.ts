/** What every command that serves a stack does: it starts, prints its requests, and ends by Ctrl-C or an error. */
import { inspect } from 'node:util';
import { FolderError } from '../dynamodb/data-folder.ts';
import type { App, ServeOptions } from '../options.ts';
import { type Emulator, serve } from '../serve.ts';
import type { LogFormat } from './reasons.ts';
import { accessLine, RequestLog } from './request-log.ts';
import { messageOf, printable } from './text.ts';

export const say = (text: string): void => console.log(printable(text));

/** A stack that `cdk synth` has written to `folder`. `name` is needed if several there have an HTTP API. */
export const stackIn = (folder: string, name?: string): { app: App; stack?: string } => ({
  app: { synth: () => ({ directory: folder }) },
  ...(name !== undefined && { stack: name }),
});

type Options = Omit<ServeOptions, 'store' | 'app' | 'stack' | 'template' | 'assets'> & {
  source: ReturnType<typeof stackIn>;
  /** The folder for the data, unless AWS_ENDPOINT_URL_DYNAMODB names a store. */
  data: string;
  /** Print each request, instead of a summary if there are many. */
  verbose?: boolean | undefined;
  format?: LogFormat;
};

/** The life of a process that serves a stack until Ctrl-C. */
export class Serving {
  readonly #cleanUps: (() => unknown)[] = [];
  readonly #hints: Record<string, string>;
  #endingSince: number | undefined;

  /** @param hints what to add to the message of an error, by the error's name */
  constructor(hints: Record<string, string> = {}) {
    this.#hints = hints;
  }

  get isEnding(): boolean {
    return this.#endingSince !== undefined;
  }

  /** Adds a clean-up step: when the process ends, the step that was added last runs first. */
  defer(cleanUp: () => unknown): void {
    this.#cleanUps.push(cleanUp);
  }

  /** Serves a stack, and prints its requests. */
  async serve({ source, data, verbose, format, onRequest, ...options }: Options): Promise<Emulator> {
    const endpoint = process.env['AWS_ENDPOINT_URL_DYNAMODB'];
    const log = new RequestLog(console.log, format);
    setInterval(() => log.endSecond(), 1_000).unref();
    this.defer(() => log.endSecond());
    const emulator = await serve({
      ...options,
      ...source,
      store: endpoint ? { endpoint } : { folder: data },
      onRequest: (logged) => {
        onRequest?.(logged);
        if (verbose) console.log(accessLine(logged, format));
        else log.add(logged);
      },
    });
    this.defer(emulator.close);
    return emulator;
  }

  /**
   * Runs `start`. If it fails, prints why, and exits with code 1. Ctrl-C lets running requests end, and exits with 0; a
   * second Ctrl-C exits at once, with 130.
   */
  async run(start: () => Promise<void>): Promise<void> {
    // SIGHUP means that the terminal was closed.
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => this.#interrupt());
    // EIO and EPIPE mean that the terminal or pipe is closed: nobody could read an error message, so end without one.
    for (const output of [process.stdout, process.stderr]) output.on('error', () => void this.#end(1));
    process.on('uncaughtException', (error) => {
      // The embedded store throws this if, for example, the disk is full. End at once: what it writes from now on is lost.
      if (error instanceof FolderError) {
        console.error(this.#explain(error));
        process.exit(1);
      }
      // Ignore errors while the process ends: it closes servers and the store while they are still in use.
      if (this.isEnding) return;
      console.error(printable(`The service failed: ${inspect(error)}`));
      void this.#end(1);
    });
    try {
      await start();
    } catch (error) {
      // If the user has stopped the process during its start, the failure is expected: report nothing.
      if (this.isEnding) return;
      console.error(this.#explain(error));
      await this.#end(1);
    }
  }

  #explain(error: unknown): string {
    const hint = error instanceof Error ? this.#hints[error.name] : undefined;
    return [messageOf(error), ...(hint === undefined ? [] : [`For example: ${hint}`])].join(' ');
  }

  #interrupt(): void {
    if (this.#endingSince === undefined) say('Stopping, once running requests have ended. Ctrl-C again stops at once.');
    // One Ctrl-C may be two signals: the first comes from the terminal, the second from npm, which forwards it.
    else if (performance.now() - this.#endingSince > 500) process.exit(130);
    void this.#end(0);
  }

  async #end(exitCode: number): Promise<void> {
    if (this.isEnding) return;
    this.#endingSince = performance.now();
    // Running requests end within 30 s.
    setTimeout(() => process.exit(1), 35_000).unref();
    for (let last = this.#cleanUps.pop(); last !== undefined; last = this.#cleanUps.pop()) {
      try {
        await last();
      } catch (error) {
        console.error(printable(`Error while stopping: ${inspect(error)}`));
      }
    }
    process.exit(exitCode);
  }
}
