import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import path from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { temporaryFolder } from '../../test/kit/local-service.ts';
import { localFunction } from '../lambda/functions.ts';
import { listen } from '../listen.ts';
import type { FunctionSpec } from '../served-stack.ts';

// Timers of this thread enforce the time limits of functions; fake timers stop them until a test advances them.
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** In milliseconds: longer than any machine needs to pass an event to a worker thread. */
const timeout = 300_000;

/** Creates a local function whose bundle is `code`, a CommonJS module. */
const functionOf = async (code: string, spec: Partial<FunctionSpec> = {}) => {
  const { folder, remove } = await temporaryFolder();
  await writeFile(path.join(folder, 'package.json'), '{"type":"commonjs"}');
  await writeFile(path.join(folder, 'index.js'), code);
  const defaults = {
    name: 'Fn',
    folder,
    handler: 'index.handler',
    environment: {},
    timeout,
    memoryMegabytes: 128,
    role: [],
  };
  const fn = localFunction({ ...defaults, ...spec });
  onTestFinished(async () => {
    await fn.close();
    await remove();
  });
  return fn;
};

test('passes an event and a context to a function, and returns its result as JSON', async () => {
  const fn = await functionOf(`exports.handler = async (event, context) => ({
    event, id: context.awsRequestId, left: context.getRemainingTimeInMillis(), arn: context.invokedFunctionArn, memory: context.memoryLimitInMB, undef: undefined })`);
  const outcome = await fn.invoke({ a: [1, null, 'é'] });
  expect(JSON.parse((outcome as { result: string }).result)).toEqual({
    event: { a: [1, null, 'é'] },
    id: expect.stringMatching(/^[0-9a-f-]{36}$/),
    left: expect.any(Number),
    arn: expect.stringMatching(/:000000000000:function:Fn$/),
    memory: '128',
  });
});

test('tells a function how much time it has left', async () => {
  const fn = await functionOf('exports.handler = async (event, context) => context.getRemainingTimeInMillis()');
  const left = Number(((await fn.invoke({})) as { result: string }).result);
  expect(left, 'milliseconds left').toBeGreaterThan(0);
  expect(left, 'milliseconds left').toBeLessThanOrEqual(timeout);
});

test('returns null if a function returns nothing', async () => {
  expect(await (await functionOf('exports.handler = async () => {}')).invoke({})).toMatchObject({ result: 'null' });
});

test('gives a function its own environment, and no variable of this process', async () => {
  const fn = await functionOf('exports.handler = async () => ({ ...process.env })', {
    environment: { TABLE_NAME: 't' },
  });
  const outcome = await fn.invoke({});
  expect(JSON.parse((outcome as { result: string }).result)).toEqual({
    TABLE_NAME: 't',
    AWS_LAMBDA_FUNCTION_NAME: 'Fn',
  });
});

test('returns the lines that a function logs beside its result, and keeps logged objects as objects', async () => {
  const fn = await functionOf(`exports.handler = async () => {
    console.info({ outcome: 'stored' }); console.error('%s!', 'no', 1); return 1 }`);
  expect((await fn.invoke({})).log).toEqual([
    { functionName: 'Fn', kind: 'log', level: 'INFO', message: { outcome: 'stored' } },
    { functionName: 'Fn', kind: 'log', level: 'ERROR', message: 'no! 1' },
  ]);
  expect((await fn.invoke({})).log, 'lines of the second event').toHaveLength(2);
});

test.each([
  ['throws', "throw new TypeError('oops')", 'TypeError: oops', false],
  ['throws a value that is not an Error', 'throw 7', '7', false],
  ['exits', 'process.exit(3)', 'exited with code 3', true],
  [
    'throws outside its handler',
    "setTimeout(() => { throw new Error('late') }); await new Promise(() => {})",
    'late',
    true,
  ],
  ['never answers', 'await new Promise(() => {})', 'timed out after 300000 ms', true],
  ['loops forever', 'for (;;);', 'timed out after 300000 ms', true],
  ['uses up its memory', 'const all = []; for (;;) all.push(new Array(1e5).fill(all.length))', 'memory', true],
])('a function that %s fails, and the next event is handled', async (_, code, failure, dies) => {
  const fn = await functionOf(
    `let events = 0; exports.handler = async (event) => { events += 1; if (event.fail) { ${code} } return events }`,
    { memoryMegabytes: 32 },
  );
  expect(await fn.invoke({})).toMatchObject({ result: '1' });
  const failing = fn.invoke({ fail: true });
  if (failure.includes('timed out')) await passTime(failing);
  expect(await failing).toMatchObject({ failure: expect.stringContaining(failure) });
  expect(await fn.invoke({})).toMatchObject({ result: dies ? '1' : '3' });
});

/** Advances the timers by `timeout`, and expects an event to run until the last millisecond. */
const passTime = async (underWay: Promise<unknown>): Promise<void> => {
  let isOver = false;
  void underWay.then(() => (isOver = true));
  await nextTurn();
  vi.advanceTimersByTime(timeout - 1);
  await nextTurn();
  expect(isOver, `over after ${timeout - 1} ms`).toBe(false);
  vi.advanceTimersByTime(1);
};

test('a function that timed out is stopped', async () => {
  const server = createServer();
  const port = await listen(server, 0);
  onTestFinished(() => void server.close());
  const fn = await functionOf(
    "exports.handler = (port) => new Promise(() => { require('node:net').connect(port, '127.0.0.1') })",
  );
  const connected = once(server, 'connection');
  const invoked = fn.invoke(port);
  const [socket]: Socket[] = await connected;
  // The socket closes only when the function's thread ends.
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

test('handles one event at a time per instance, in up to 8 instances', async () => {
  const fn = await functionOf(`
    const id = Math.random(); let running = 0;
    exports.handler = async () => {
      running += 1; const together = running;
      await new Promise((resolve) => setTimeout(resolve, 50));
      running -= 1; return { id, together };
    }`);
  const outcomes = await Promise.all(Array.from({ length: 40 }, () => fn.invoke({})));
  const results = outcomes.map((outcome) => JSON.parse((outcome as { result: string }).result));
  expect(results.map(({ together }) => together)).toEqual(Array(40).fill(1));
  const instances = new Set(results.map(({ id }) => id)).size;
  expect(instances, 'instances').toBeGreaterThan(1);
  expect(instances, 'instances').toBeLessThanOrEqual(8);
});

test('an instance that exited between two events gets no further event', async () => {
  const fn = await functionOf(`const id = Math.random();
    exports.handler = async (event) => { if (event.die) setTimeout(() => process.exit(1), 1); return id }`);
  const first = await fn.invoke({ die: true });
  // If the instance exits while it handles an event, that event fails, as in Lambda.
  let next = first;
  while (!('result' in next) || JSON.stringify(next) === JSON.stringify(first)) next = await fn.invoke({});
  expect(next).toHaveProperty('result');
});

test('returns the level of each line that a function logs', async () => {
  const fn = await functionOf(`exports.handler = async () => {
    for (const level of ['trace', 'debug', 'log', 'info', 'warn', 'error']) console[level](level) }`);
  const { log } = await fn.invoke({});
  expect(log.map(({ level }) => level)).toEqual(['TRACE', 'DEBUG', 'INFO', 'INFO', 'WARN', 'ERROR']);
});

test.each([
  '{ id: 2n ** 63n }',
  '(() => { const a = {}; a.a = a; return a })()',
  'new Error("boom")',
  'Symbol("s")',
  'null',
])('a function may log %s', async (code) => {
  const fn = await functionOf(`exports.handler = async () => { console.info(${code}); return 1 }`);
  const { log, ...rest } = await fn.invoke({});
  expect(rest).toEqual({ result: '1' });
  expect(log).toMatchObject([{ level: 'INFO' }]);
  if (code.includes('boom')) expect(log).toMatchObject([{ message: { errorType: 'Error', errorMessage: 'boom' } }]);
});

test.each([
  ['throws while it loads', "throw new Error('no TABLE_NAME')", 'no TABLE_NAME'],
  ['does not parse', 'exports.handler = (', 'SyntaxError'],
  ['exports no handler', 'exports.other = 1', 'does not export handler'],
])('rejects the warm-up of a function that %s, and fails each event', async (_, code, reason) => {
  const fn = await functionOf(code);
  await expect(fn.warmUp()).rejects.toThrow(reason);
  expect(await fn.invoke({})).toMatchObject({ failure: expect.stringContaining(reason) });
});

test('fails an event if the response is over 6 MB', async () => {
  const fn = await functionOf("exports.handler = async (size) => 'x'.repeat(size)");
  expect(await fn.invoke(6_291_554)).toMatchObject({ result: expect.any(String) });
  expect(await fn.invoke(6_291_555)).toMatchObject({ failure: 'the response is over 6 MB' });
});

test('does not pass an event over 6 MB to the function', async () => {
  const fn = await functionOf('exports.handler = async () => 1');
  expect(await fn.invoke('x'.repeat(6_291_553))).toMatchObject({ result: '1' });
  expect(await fn.invoke('x'.repeat(6_291_554))).toMatchObject({ tooLarge: true });
});
