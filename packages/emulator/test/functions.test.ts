/** Tests a function's instances, their limits and their ends. */
import os from 'node:os';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, onTestFinished, test, vi } from 'vitest';
import { Functions } from '../lambda/functions.ts';
import { functionOf, resultOf, timeout, watchThreads } from './kit/one-function.ts';

/** A function whose handler runs the code in the event, if any, and returns how many events its instance has had. */
const countingFunction = () =>
  functionOf(
    `let events = 0;
    exports.handler = async ({ code = '' }) => {
      events += 1;
      await eval('(async () => {' + code + '})()');
      return events;
    }`,
    { memoryMegabytes: 32 },
  );

/** Lets `timeout` pass on the fake timers, and expects that the event is in progress one millisecond before that. */
const passTime = async (inProgress: Promise<unknown>): Promise<void> => {
  let isOver = false;
  void inProgress.then(() => (isOver = true));
  await nextTurn();
  vi.advanceTimersByTime(timeout - 1);
  await nextTurn();
  expect(isOver, `over after ${timeout - 1} ms`).toBe(false);
  vi.advanceTimersByTime(1);
};

const forever = 'await new Promise(() => setInterval(() => {}, 1e6))';

test('an event fails if its handler fails or its instance ends, but the next event is handled', async () => {
  const { invoke } = await countingFunction();
  const failures: [code: string, failure: string, ends: boolean][] = [
    ["throw new TypeError('oops')", 'TypeError: oops', false],
    ['process.exit(0)', 'Runtime.ExitError: Runtime exited without providing a reason', true],
    ["Promise.reject(new Error('late'))", 'Runtime.UnhandledPromiseRejection: Error: late', true],
    [`setTimeout(() => { throw new Error('late') }); ${forever}`, 'Error: late', true],
    // This can never settle.
    ['await new Promise((resolve) => setTimeout(resolve, 1e6).unref())', 'Runtime.NodeJsExit', true],
    [forever, 'Task timed out after 300.00 seconds', true],
    ['for (;;);', 'Task timed out after 300.00 seconds', true],
    ['const all = []; for (;;) all.push(new Array(1e5).fill(all.length))', 'memory', true],
  ];
  for (const [code, failure, ends] of failures) {
    const count = Number(resultOf(await invoke()));
    const failing = invoke({ code });
    if (failure.includes('timed out')) await passTime(failing);
    expect(await failing, code).toMatchObject({ failure: expect.stringContaining(failure) });
    expect(resultOf(await invoke()), code).toBe(ends ? 1 : count + 2);
  }
});

test('an uncaught error after the response ends the instance, and is logged with the next event', async () => {
  const fn = await countingFunction();
  const code = "setTimeout(() => { throw new RangeError('late') }, 1)";
  expect(resultOf(await fn.invoke({ code }))).toBe(1);
  // Send events until the log of one contains the error. Ignore events that fail: as on Lambda, an event fails if its
  // instance ends in the middle of it.
  let next = await fn.invoke();
  while (next.log.length === 0) next = await fn.invoke();
  expect(next.log).toMatchObject([{ level: 'ERROR', message: { errorType: 'RangeError', errorMessage: 'late' } }]);
  expect(resultOf(await fn.invoke()), 'number of the event').toBeLessThanOrEqual(2);
});

test("an instance limits V8's old generation to the function's memory size, and V8's young generation to 16 MB", async () => {
  const code = "exports.handler = async () => require('node:worker_threads').resourceLimits";
  const fn = await functionOf(code, { memoryMegabytes: 512 });
  expect(resultOf(await fn.invoke())).toMatchObject({ maxOldGenerationSizeMb: 512, maxYoungGenerationSizeMb: 16 });
});

test('a function that does not finish loading fails after 10 seconds', async () => {
  const fn = await functionOf('for (;;);');
  const warmUp = expect(fn.functions.warmUp()).rejects.toThrow('Loading timed out after 10000 ms');
  await nextTurn();
  vi.advanceTimersByTime(10_000);
  await warmUp;
});

test('a function has up to 8 instances for an event each, and the log says how long an event waited for one', async () => {
  const { connect, next, connections } = await watchThreads();
  const code = `exports.handler = () => new Promise((resolve) => ${connect}.on('data', () => resolve(1)));`;
  const { functions } = await functionOf(code);
  const started: number[] = [];
  const target = { functionName: 'Fn', arn: 'arn', version: '1' };
  const events = [1, 2, 3, 4, 5, 6, 7, 8, 9];
  const outcomes = events.map((event) => functions.invoke(target, event, () => started.push(event)));
  const threads = [];
  while (threads.length < 8) threads.push(await next());
  expect([started.toSorted(), connections()]).toEqual([events.slice(0, 8), 8]);
  const last = next();
  for (const each of [...threads, last]) (await each).send();
  const { log } = (await Promise.all(outcomes))[8] ?? {};
  const message = expect.stringMatching(/^The event waited \d+ ms for one of 8 instances\. .*maxInstances/);
  expect(log).toEqual([{ functionName: 'Fn', level: 'WARN', message }]);
  expect(started.at(-1)).toBe(9);
});

test('no more functions load at the same time than there are processors, so that loading does not time out', async () => {
  vi.spyOn(os, 'availableParallelism').mockReturnValue(2);
  const { connect, next } = await watchThreads();
  const { spec } = await functionOf({
    'index.mjs': `await new Promise((resolve) => ${connect}.on('data', resolve)); export const handler = () => 1`,
  });
  const names = Array.from('ABCDE');
  const functions = new Functions(names.map((name) => ({ ...spec, name })));
  onTestFinished(() => functions.close());
  const results = Promise.all(names.map(async (name) => resultOf(await functions.invokeByName(name, {}))));
  // Two load at a time, so each takes 8 of 10 seconds. If all five did, some would take 12.
  const loading = [await next()];
  for (const _ of names.slice(1)) {
    loading.push(await Promise.race([next(), results.then(next)]));
    vi.advanceTimersByTime(4_000);
    loading.shift()?.send();
  }
  loading.shift()?.send();
  expect(await results).toEqual([1, 1, 1, 1, 1]);
});

test('an event and a response of over 6 MB are refused, counted in bytes, not in characters', async () => {
  const code = "exports.handler = async (event) => event.startsWith('é') || 'é'.repeat(3_145_777) + event";
  const fn = await functionOf(code);
  expect(await fn.invoke(`${'é'.repeat(3_145_776)}x`)).toMatchObject({ result: 'true' });
  expect(await fn.invoke('é'.repeat(3_145_777))).toMatchObject({ tooLarge: true });
  expect(await fn.invoke('')).toMatchObject({ result: expect.any(String) });
  expect(await fn.invoke('x')).toMatchObject({ failure: 'the response is over 6 MB' });
});

test('close() aborts the events in progress, and rejects an event that waits for a free instance', async () => {
  const fn = await functionOf(`exports.handler = async () => { ${forever} }`, {}, { maxInstances: 1 });
  await fn.functions.warmUp();
  const outcomes = Promise.all([fn.invoke(), fn.invoke().catch(String)]);
  await nextTurn();
  await fn.functions.close();
  const aborted = { failure: expect.stringContaining('exited') };
  expect(await outcomes).toMatchObject([aborted, 'Error: The function Fn was closed.']);
});
