import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { App } from 'aws-cdk-lib';
import { type BuildContext, context as prepareBuild } from 'esbuild';
import type { Emulator } from 'http-api-emulator';
import { bundle, listDevEntries } from '../../../infra/bundling.ts';
import { generator, isCurrent } from '../../../infra/generated-code.ts';
import { type Bundle, bundleIn, bundleOptions, keepBundle, sha256Of } from '../bundles.ts';
import { entriesOf } from '../stack.ts';
import { printable, withoutHash } from '../terminal.ts';
import type { Synthesis, Synthesized } from './synthesize.ts';

export const root = path.resolve(import.meta.dirname, '../../..');

/** The running service, which serves the CDK app `app`. */
export type Service = Omit<Synthesis, 'bundles'> & {
  emulator: Emulator;
  app: App;
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
   * Whether infra/bundling.ts has changed. If so, this process still has the old esbuild options, so from then on, each
   * reload bundles in a new child process, which has the new options.
   */
  #isBundlingOutdated = false;

  constructor(service: Service) {
    this.#service = service;
    this.#entries = entriesOf(service.app);
  }

  /**
   * Makes the service use the changed `files`, whose paths are relative to the project's root. Wait for the end of one
   * call before the next.
   * @returns a description of what was reloaded
   * @throws Error with a message for the user; the service then continues as before
   */
  async reload(files: string[]): Promise<string> {
    const hasChanged = (start: string): boolean => files.some((file) => file.startsWith(start));
    this.#isBundlingOutdated ||= hasChanged('infra/bundling.ts');
    if (!isCurrent()) await this.#run(...generator);
    const bundling = listDevEntries().map(async (entry) => [entry, await this.#bundle(entry)] as const);
    // Wait for all, so that none is still in progress when the next reload begins.
    await Promise.allSettled(bundling);
    const bundles = new Map(await Promise.all(bundling));
    const isStack =
      ['schemas/', 'packages/contract/', 'infra/', 'cdk.json'].some(hasChanged) || this.#isBundlingOutdated;
    return isStack ? this.#reloadStack(bundles) : this.#swapFunctions(bundles);
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await Promise.allSettled([...this.#builds.values()].map(async (build) => (await build).dispose()));
  }

  /** @throws Error with the file and line of each error */
  async #bundle(entry: string): Promise<Bundle> {
    const build = this.#builds.get(entry) ?? prepareBuild(bundleOptions(entry, this.#service.debug));
    this.#builds.set(entry, build);
    return bundleIn(entry, await (await build).rebuild());
  }

  async #reloadStack(bundles: Map<string, Bundle>): Promise<string> {
    const { debug, emulator, assets, context, onScope } = this.#service;
    // Hand over the bundles, because the files may change again before the new process could bundle them.
    const given = this.#isBundlingOutdated ? [] : [...bundles];
    const files = await Promise.all(given.map(async ([entry, made]) => [entry, await this.#write(made)] as const));
    const synthesis = JSON.stringify({ assets, context, debug, bundles: files } satisfies Synthesis);
    const synthesized = await this.#run('tools/start/watch/synthesize.ts', synthesis);
    const { template, entries, scope } = synthesized as Synthesized;
    await emulator.reload({ template, assets });
    onScope(scope);
    this.#entries = entries;
    for (const [entry, made] of bundles) keepBundle(entry, made);
    return `the stack, which serves ${emulator.routeKeys.join(', ')}`;
  }

  async #swapFunctions(bundles: Map<string, Bundle>): Promise<string> {
    const changed = Object.entries(this.#entries).flatMap(([name, entry]) => {
      const made = bundles.get(entry);
      return made === undefined || Buffer.compare(bundle(entry), made.code) === 0 ? [] : [{ name, entry, made }];
    });
    const swaps = await Promise.allSettled(
      changed.map(async ({ name, entry, made }) => {
        const folder = path.dirname(await this.#write(made));
        await this.#service.emulator.swap(name, folder, { BUNDLE_SHA256: sha256Of(made.code) });
        keepBundle(entry, made);
      }),
    );
    const reasons = swaps.flatMap((swap) => (swap.status === 'rejected' ? [String(swap.reason.message)] : []));
    if (reasons.length > 0) throw new Error(reasons.join('\n'));
    return changed.map(({ name }) => withoutHash(name)).join(', ') || 'nothing, because no bundle changed';
  }

  /** Writes a bundle to a new folder, and returns the path of its file. */
  async #write({ code }: Bundle): Promise<string> {
    const file = path.join(await mkdtemp(path.join(this.#service.assets, 'bundle-')), 'index.js');
    await writeFile(file, code);
    return file;
  }

  /**
   * Runs a script in a new process.
   * @returns the message that the script sent to this process
   * @throws Error with the script's error output if the script fails
   */
  async #run(script: string, ...args: string[]): Promise<unknown> {
    const { signal } = this.#stop;
    const child = fork(path.join(root, script), args, {
      cwd: root,
      signal,
      execArgv: [],
      stdio: ['ignore', 1, 'pipe', 'ipc'],
    });
    let stderr = '';
    let message: unknown;
    child.stderr?.on('data', (chunk) => (stderr += chunk));
    child.on('message', (sent) => (message = sent));
    const [code] = await once(child, 'close');
    if (code !== 0) throw new Error(shorten(stderr.trimEnd()) || `${script} ended with code ${code}`);
    if (stderr !== '') console.error(printable(stderr.trimEnd()));
    return message;
  }
}

/** Matches what Node.js prints for an error whose message says all: the place, the code there, the error, a stack. */
const evident = /^(?:file:\/\/)?(\/[^\n]+:\d+)\n.*?^(?:Syntax|Configuration)Error\b[^:\n]*(: [^\n]+)/ms;

/** Makes one line, such as `infra/app.ts:7: Unexpected token`, of what Node.js prints for an evident error. */
const shorten = (stderr: string): string => {
  const [, place, message] = evident.exec(stderr) ?? [];
  return place === undefined ? stderr : `${path.relative(root, place)}${message}`;
};
