import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { ReloadQueue } from '../command/reload-queue.ts';

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
