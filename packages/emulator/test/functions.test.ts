/** Tests a function's instances, their limits and their ends. */
import os from 'node:os';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, onTestFinished, test, vi } from 'vitest';
import { Functions } from '../lambda/functions.ts';
import { functionOf, resultOf, timeout, watchThreads } from './kit/one-function.ts';

/**
 * A function whose handler runs `statements` if the event has `fail`, and returns how many events its instance has had.
 */
const countingFunction = (statements: string) =>
  functionOf(
    `let events = 0; exports.handler = async (event) => { events += 1; if (event.fail) { ${statements} } return events }`,
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

test.each([
  ['throws', "throw new TypeError('oops')", 'TypeError: oops', false],
  ['exits with code 0', 'process.exit(0)', 'Runtime.ExitError: Runtime exited without providing a reason', true],
  [
    'leaves a rejection unhandled',
    "Promise.reject(new Error('late'))",
    'Runtime.UnhandledPromiseRejection: Error: late',
    true,
  ],
  ['throws in a timer', `setTimeout(() => { throw new Error('late') }); ${forever}`, 'Error: late', true],
  ['can never settle', 'await new Promise((resolve) => setTimeout(resolve, 1e6).unref())', 'Runtime.NodeJsExit', true],
  ['waits too long', forever, 'Task timed out after 300.00 seconds', true],
  ['loops forever', 'for (;;);', 'Task timed out after 300.00 seconds', true],
  ['uses up its memory', 'const all = []; for (;;) all.push(new Array(1e5).fill(all.length))', 'memory', true],
])('an event fails if its handler %s, but the next event is handled', async (_, code, failure, dies) => {
  const fn = await countingFunction(code);
  expect(resultOf(await fn.invoke())).toBe(1);
  const failing = fn.invoke({ fail: true });
  if (failure.includes('timed out')) await passTime(failing);
  expect(await failing).toMatchObject({ failure: expect.stringContaining(failure) });
  expect(resultOf(await fn.invoke())).toBe(dies ? 1 : 3);
});

test('an uncaught error after the response ends the instance, and is logged with the next event', async () => {
  const fn = await countingFunction("setTimeout(() => { throw new RangeError('late') }, 1)");
  expect(resultOf(await fn.invoke({ fail: true }))).toBe(1);
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

test('a function has up to maxInstances instances, and the log says how long an event waited for one', async () => {
  const { connect, next, connections } = await watchThreads();
  const code = `exports.handler = () => new Promise((resolve) => ${connect}.on('data', () => resolve(1)));`;
  const fn = await functionOf(code, {}, { maxInstances: 2 });
  const started: number[] = [];
  const target = { functionName: 'Fn', arn: 'arn', version: '1' };
  const outcomes = [1, 2, 3].map((event) => fn.functions.invoke(target, event, () => started.push(event)));
  const [first, second] = [await next(), await next()];
  expect([started, connections()]).toEqual([[1, 2], 2]);
  const last = next();
  for (const each of [first, second, last]) (await each).send();
  const [, , waited] = await Promise.all(outcomes);
  const message = expect.stringMatching(/^The event waited \d+ ms for one of 2 instances\. .*maxInstances/);
  expect(waited?.log).toEqual([{ functionName: 'Fn', level: 'WARN', message }]);
  expect(started).toEqual([1, 2, 3]);
});

test('no more functions load at the same time than there are processors, so that loading does not time out', async () => {
  vi.spyOn(os, 'availableParallelism').mockReturnValue(2);
  const { connect, next, connections } = await watchThreads();
  const { spec } = await functionOf({
    'index.mjs': `await new Promise((resolve) => ${connect}.on('data', resolve)); export const handler = () => 1`,
  });
  const names = Array.from('ABCDEFGHIJKL');
  const functions = new Functions(names.map((name) => ({ ...spec, name })));
  onTestFinished(() => functions.close());
  const results = Promise.all(names.map(async (name) => resultOf(await functions.invokeByName(name, {}))));
  for (const [index] of names.entries()) {
    const thread = await Promise.race([next(), results.then(() => undefined)]);
    expect(connections(), 'threads so far').toBeLessThanOrEqual(index + 2);
    vi.advanceTimersByTime(1_000);
    thread?.send();
  }
  expect(await results).toEqual(names.map(() => 1));
});

test('a function has up to 8 instances, each of which handles one event at a time', async () => {
  const fn = await functionOf(`
    const id = Math.random(); let running = 0;
    exports.handler = async () => {
      running += 1; const together = running;
      await new Promise((resolve) => setTimeout(resolve, 50));
      running -= 1; return { id, together };
    }`);
  const outcomes = await Promise.all(Array.from({ length: 40 }, () => fn.invoke()));
  const results = outcomes.map((outcome) => resultOf(outcome) as { id: number; together: number });
  expect(results.map(({ together }) => together)).toEqual(Array(40).fill(1));
  const instances = new Set(results.map(({ id }) => id)).size;
  expect(instances, 'instances').toBeGreaterThan(1);
  expect(instances, 'instances').toBeLessThanOrEqual(8);
});

test('an event and a response of over 6 MB are refused, counted in bytes, not in characters', async () => {
  const fn = await functionOf(
    "exports.handler = async (event) => event.startsWith('é') || 'é'.repeat(3_145_777) + event",
  );
  expect(await fn.invoke(`${'é'.repeat(3_145_776)}x`)).toMatchObject({ result: 'true' });
  expect(await fn.invoke('é'.repeat(3_145_777))).toMatchObject({ tooLarge: true });
  expect(await fn.invoke('')).toMatchObject({ result: expect.any(String) });
  expect(await fn.invoke('x')).toMatchObject({ failure: 'the response is over 6 MB' });
});

test('close() aborts the events in progress, and rejects an event that waits for a free instance', async () => {
  const fn = await functionOf(`exports.handler = async () => { ${forever} }`, {}, { maxInstances: 1 });
  await fn.functions.warmUp();
  const outcomes = Promise.all([fn.invoke(), fn.invoke().catch(String)]);
  await fn.functions.close();
  expect(await outcomes).toEqual([
    expect.objectContaining({ failure: expect.stringContaining('exited') }),
    'Error: The function Fn was closed.',
  ]);
});
