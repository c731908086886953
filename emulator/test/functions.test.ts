/** Tests a function's instances and their limits. runtime*.test.ts test what runs inside an instance. */
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, onTestFinished, test, vi } from 'vitest';
import { listen } from '../listen.ts';
import { functionOf, resultOf, timeout } from './kit/one-function.ts';

test.each([
  ['throws', "throw new TypeError('oops')", 'TypeError: oops', false],
  ['throws a value that is not an Error', 'throw 7', 'number: 7', false],
  ['exits', 'process.exit(3)', 'Runtime.ExitError: Runtime exited with error: exit status 3', true],
  [
    'throws in a timer',
    "setTimeout(() => { throw new Error('late') }); await new Promise(() => {})",
    'Error: late',
    true,
  ],
  ['never settles', 'await new Promise(() => {})', 'Runtime.NodeJsExit', true],
  [
    'waits too long',
    'await new Promise(() => setInterval(() => {}, 1e6))',
    'Task timed out after 300.00 seconds',
    true,
  ],
  ['loops forever', 'for (;;);', 'Task timed out after 300.00 seconds', true],
  ['uses up its memory', 'const all = []; for (;;) all.push(new Array(1e5).fill(all.length))', 'memory', true],
])('an event fails if its handler %s, but the next event is handled', async (_, code, failure, dies) => {
  const fn = await functionOf(
    `let events = 0; exports.handler = async (event) => { events += 1; if (event.fail) { ${code} } return events }`,
    { memoryMegabytes: 32 },
  );
  expect(resultOf(await fn.invoke())).toBe(1);
  const failing = fn.invoke({ fail: true });
  if (failure.includes('timed out')) await passTime(failing);
  expect(await failing).toMatchObject({ failure: expect.stringContaining(failure) });
  expect(resultOf(await fn.invoke())).toBe(dies ? 1 : 3);
});

test("an instance limits V8's old generation to the function's memory size, and V8's young generation to 16 MB", async () => {
  const fn = await functionOf("exports.handler = async () => require('node:worker_threads').resourceLimits", {
    memoryMegabytes: 512,
  });
  expect(resultOf(await fn.invoke())).toMatchObject({ maxOldGenerationSizeMb: 512, maxYoungGenerationSizeMb: 16 });
});

/**
 * Lets `timeout` pass on the fake timers, and expects that the event is still in progress one millisecond before that.
 */
const passTime = async (underWay: Promise<unknown>): Promise<void> => {
  let isOver = false;
  void underWay.then(() => (isOver = true));
  await nextTurn();
  vi.advanceTimersByTime(timeout - 1);
  await nextTurn();
  expect(isOver, `over after ${timeout - 1} ms`).toBe(false);
  vi.advanceTimersByTime(1);
};

test('if a function times out, its thread ends', async () => {
  const server = createServer();
  const port = await listen(server, 0);
  onTestFinished(() => void server.close());
  const fn = await functionOf(
    "exports.handler = (port) => new Promise(() => { require('node:net').connect(port, '127.0.0.1') })",
  );
  const connected = once(server, 'connection');
  const invoked = fn.invoke(port);
  const [socket]: Socket[] = await connected;
  // Wait until the socket closes, which shows that the function's thread has ended.
  const closed = new Promise((resolve) =>
    socket
      ?.on('error', () => {})
      .on('close', resolve)
      .resume(),
  );
  await passTime(invoked);
  expect(await invoked).toMatchObject({ failure: expect.stringContaining('timed out') });
  await closed;
});

test('if the timeout of a running function is changed, the new timeout applies to later events', async () => {
  const fn = await functionOf('exports.handler = async (_, context) => context.getRemainingTimeInMillis()');
  expect(Number(resultOf(await fn.invoke())), 'milliseconds left').toBeLessThanOrEqual(timeout);
  fn.spec.timeout = 2 * timeout;
  expect(Number(resultOf(await fn.invoke())), 'milliseconds left').toBeGreaterThan(timeout);
});

test('a function that does not finish loading fails after 10 seconds', async () => {
  const fn = await functionOf('for (;;);');
  const warmUp = expect(fn.functions.warmUp()).rejects.toThrow('Loading timed out after 10000 ms');
  await nextTurn();
  vi.advanceTimersByTime(10_000);
  await warmUp;
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

test('an instance that exited between two events gets no further event', async () => {
  const fn = await functionOf(`const id = Math.random();
    exports.handler = async (event) => { if (event.die) setTimeout(() => process.exit(1), 1); return id }`);
  const first = await fn.invoke({ die: true });
  // Send events until another instance responds. Ignore events that fail: as on Lambda, an event fails if its instance
  // exits before it responds.
  let next = first;
  while (!('result' in next) || JSON.stringify(next) === JSON.stringify(first)) next = await fn.invoke();
  expect(next).toHaveProperty('result');
});

test("an invocation fails if the function's response is over 6 MB, counted in bytes, not in characters", async () => {
  const fn = await functionOf("exports.handler = async (more) => 'é'.repeat(3_145_777) + more");
  expect(await fn.invoke('')).toMatchObject({ result: expect.any(String) });
  expect(await fn.invoke('x')).toMatchObject({ failure: 'the response is over 6 MB' });
});

test('an event over 6 MB, counted in bytes, is not passed to the function', async () => {
  const fn = await functionOf('exports.handler = async () => 1');
  expect(await fn.invoke(`${'é'.repeat(3_145_776)}x`)).toMatchObject({ result: '1' });
  expect(await fn.invoke('é'.repeat(3_145_777))).toMatchObject({ tooLarge: true });
});

test('an invocation of a function that does not exist is rejected', async () => {
  const { functions } = await functionOf('exports.handler = async () => 1');
  await expect(functions.invokeByName('Other', {})).rejects.toThrow('The stack has no function Other. It has Fn.');
});

test('close() aborts the events in progress, and rejects an event that waits for a free instance', async () => {
  const fn = await functionOf('exports.handler = () => new Promise(() => setInterval(() => {}, 1e6))');
  await fn.functions.warmUp();
  // Eight events are in progress, and one waits for a free instance.
  const outcomes = Array.from({ length: 9 }, () => fn.invoke().catch(String));
  await fn.functions.close();
  expect(await Promise.all(outcomes)).toEqual([
    ...Array(8).fill(expect.objectContaining({ failure: expect.stringContaining('exited') })),
    'Error: The function Fn was closed.',
  ]);
});
