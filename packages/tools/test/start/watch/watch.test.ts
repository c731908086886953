import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { testFolder } from '@lambda-service/testing/programs';
import { until } from '@lambda-service/testing/waiting';
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { ReloadQueue, watchSources } from '../../../start/watch/watch.ts';

describe('the watcher', () => {
  const renderer = 'packages/tools/start/reference/render.ts';
  const generator = 'packages/contract/types.ts';
  let write: (file: string) => Promise<void>;
  let replace: (file: string) => Promise<void>;
  let remove: (file: string) => Promise<void>;
  let changed: string[];

  beforeEach(async () => {
    const folder = await testFolder();
    const at = (file: string): string => path.join(folder, file);
    write = async (file) => {
      await mkdir(path.dirname(at(file)), { recursive: true });
      await writeFile(at(file), '');
    };
    replace = async (file) => {
      await writeFile(at(`${file}~`), '');
      await rename(at(`${file}~`), at(file));
    };
    remove = (file) => rm(at(file), { force: true });
    const files = [
      'packages/runtime/http/errors.ts',
      'packages/cdk/settings.ts',
      'schemas/openapi.yaml',
      renderer,
      generator,
    ];
    for (const file of files) await write(file);
    changed = [];
    const close = await watchSources(folder, (file) => changed.push(file));
    onTestFinished(close);
  });

  /**
   * Repeats a change of a file until the watcher reports the file (a removal has an effect only once). Ignores reports of
   * other files: on a busy machine, the report of an earlier change can come late.
   *
   * chokidar does not report a second change within 50 ms, and may miss a new file or folder in a new folder
   * (https://github.com/paulmillr/chokidar/issues/1471).
   */
  const expectReport = async (change: (file: string) => Promise<void>, file: string): Promise<void> => {
    changed = [];
    await until(async () => {
      await change(file);
      return changed.includes(file);
    });
  };

  test('reports a source file that is written, added in a new folder, or removed', async () => {
    await expectReport(write, 'packages/runtime/http/errors.ts');
    await expectReport(write, path.join('functions', 'new', 'c.ts'));
    await expectReport(remove, 'packages/cdk/settings.ts');
    for (const file of [renderer, generator]) await expectReport(write, file);
  });

  test('reports a source file each time an editor replaces it', async () => {
    // A watcher that notices only the first replacement, as fs.watch does, may report it twice, but not five times.
    for (let replacement = 0; replacement < 5; replacement++) await expectReport(replace, 'schemas/openapi.yaml');
  });

  test("does not report generated files, released contracts, the page's script or editors' temporary files", async () => {
    for (const file of ['generated/contract.ts', '.a.ts.swp', 'a.ts~', '4913', '.#a.ts', 'http/a.ts___jb_tmp___']) {
      await write(`functions/${file}`);
    }
    for (const file of ['schemas/released/1.0.0.yaml', 'packages/tools/start/reference/page.js']) await write(file);
    await until(async () => {
      await write('packages/cdk/settings.ts');
      return changed.includes('packages/cdk/settings.ts');
    });
    expect(new Set(changed)).toEqual(new Set(['packages/cdk/settings.ts']));
  });
});

describe('the reload queue', () => {
  /**
   * The files of each reload that has begun. `last` is the promise of the latest reload: a test resolves or rejects this
   * promise to end the reload.
   */
  let reloads: string[][];
  let last: PromiseWithResolvers<string>;
  let queue: ReloadQueue;
  let output: string[];

  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    onTestFinished(() => void vi.useRealTimers());
    output = [];
    for (const name of ['log', 'error'] as const) {
      vi.spyOn(console, name).mockImplementation((line) => void output.push(line));
    }
    reloads = [];
    queue = new ReloadQueue((files) => {
      reloads.push(files);
      last = Promise.withResolvers();
      return last.promise;
    });
  });

  const pass = (milliseconds: number) => vi.advanceTimersByTimeAsync(milliseconds);

  test('reloads once after several changes in quick succession, and prints the time since the first', async () => {
    for (const file of ['a.ts', 'b.ts', 'a.ts', 'c.ts']) {
      queue.add(file);
      await pass(40);
    }
    expect(reloads).toEqual([]);
    await pass(20);
    expect(reloads).toEqual([['a.ts', 'b.ts', 'c.ts']]);
    await pass(20);
    last.resolve('CreatePlant');
    await pass(1_000);
    expect(output).toEqual(['Reloaded CreatePlant (0.20 s).']);
  });

  test('starts no reload during another one, nor before files have stopped changing', async () => {
    queue.add('a.ts');
    await pass(60);
    queue.add('b.ts');
    last.resolve('all');
    await pass(40);
    queue.add('c.ts');
    await pass(60);
    expect(reloads).toEqual([['a.ts'], ['b.ts', 'c.ts']]);
    queue.add('d.ts');
    await pass(1_000);
    expect(reloads, 'during a reload').toHaveLength(2);
    last.resolve('all');
    await pass(0);
    expect(reloads[2]).toEqual(['d.ts']);
  });

  test('prints why a reload failed, and tries the same files again only after the next change', async () => {
    queue.add('a.ts');
    await pass(60);
    last.reject(new Error('a.ts:1: no'));
    await pass(1_000);
    expect(output).toEqual(['a.ts:1: no', expect.stringMatching(/^Not reloaded: /)]);
    expect(reloads.length, 'reloads').toBe(1);
    queue.add('b.ts');
    await pass(60);
    expect(reloads[1]).toEqual(['a.ts', 'b.ts']);
  });

  test('once closed, neither starts a reload nor prints anything', async () => {
    queue.add('a.ts');
    await pass(60);
    queue.add('b.ts');
    queue.close();
    last.reject(new Error('stopped'));
    await pass(1_000);
    queue.add('c.ts');
    await pass(1_000);
    expect(reloads).toEqual([['a.ts']]);
    expect(output).toEqual([]);
  });
});
