/** Tests the option `debug`: if a debugger pauses threads, requests do not time out. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { transformSync } from 'esbuild';
import { describe, expect, test, vi } from 'vitest';
import { allow, asJson, start, token } from './kit/gateway.ts';
import { functionOf, resultOf, returned, timeout, watchThreads } from './kit/one-function.ts';
import { stopTimers } from './kit/temporary.ts';

/** Code that stops its thread for 400 ms, as a debugger would. */
const pause = 'Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 400);';

/**
 * For each kind of timer: an expression that starts such a timer. Its value is a promise, which resolves to the name of
 * the kind when the timer fires.
 */
const timers = {
  setInterval: `new Promise((resolve) => {
    let ticks = 0;
    const timer = setInterval(() => { if ((ticks += 1) === 3) { clearInterval(timer); resolve('setInterval'); } }, 50);
  })`,
  setTimeout: "new Promise((resolve) => setTimeout(resolve, 200, 'setTimeout'))",
  'node:timers/promises': "require('node:timers/promises').setTimeout(200, 'node:timers/promises')",
  'AbortSignal.timeout': "once(AbortSignal.timeout(200), 'abort').then(() => 'AbortSignal.timeout')",
};

/**
 * A handler that starts a timer of each kind, and then blocks its thread, as a debugger's pause does. It returns the
 * timers that fired in the first turns of the event loop after the pause (`early`), all timers that had fired when
 * the handler ended (`fired`), and how many milliseconds the pause took by each clock.
 */
const pausing = `
  const { once } = require('node:events');
  exports.handler = async (_, context) => {
    const read = () => [performance.now(), -context.getRemainingTimeInMillis(), Date.now()];
    const fired = [];
    const all = [${Object.values(timers)}].map(async (timer) => fired.push(await timer));
    const before = read();
    ${pause}
    const [clock, timeUsed, date] = read().map((value, index) => value - before[index]);
    for (let turns = 0; turns < 3; turns += 1) await new Promise(setImmediate);
    const early = [...fired];
    // The timer of AbortSignal.timeout keeps no process running, and may be the last to fire.
    const awake = setInterval(() => {}, 1_000);
    await Promise.all(all);
    clearInterval(awake);
    return { early, fired: fired.sort(), clock, timeUsed, date };
  };`;

describe('with the option debug', () => {
  test("a debugger's pause advances Date, but it postpones timers, and uses up no time of performance.now() or of the event", async () => {
    const { clock, timeUsed, date, ...others } = (await returned(pausing, {}, { debug: true })) as Record<
      string,
      number
    >;
    expect(others).toEqual({ early: [], fired: Object.keys(timers).sort() });
    expect(clock, 'milliseconds by performance.now()').toBeLessThan(200);
    expect(timeUsed, 'milliseconds of the time left').toBeLessThan(200);
    expect(date, 'milliseconds by Date').toBeGreaterThan(200);
  });

  test('stack traces name the lines of the sources if the code has source maps', async () => {
    const source = "export const handler = async (): Promise<never> => {\n  throw new Error('oops');\n};";
    const options = { loader: 'ts', format: 'cjs', sourcemap: 'inline', sourcefile: 'src/handler.ts' } as const;
    const { code } = transformSync(source, options);
    const log = async (debug: boolean) => JSON.stringify(await (await functionOf(code, {}, { debug })).invoke());
    expect(await log(true)).toContain('src/handler.ts:2:9');
    expect(await log(false)).not.toContain('src/handler.ts');
  });

  test('neither loading a function nor handling an event times out', async () => {
    const { connect, next } = await watchThreads();
    const code = `const finished = () => new Promise((resolve) => ${connect}.on('data', resolve));
      await finished();
      export const handler = async () => { await finished(); return 'late'; };`;
    const fn = await functionOf({ 'index.mjs': code }, {}, { debug: true });
    let connected = next();
    const invoked = fn.invoke();
    for (const _ of ['loading', 'handling']) {
      const { send } = await connected;
      connected = next();
      vi.advanceTimersByTime(2 * timeout);
      send();
    }
    expect(resultOf(await invoked)).toBe('late');
  });

  test('the gateway waits without a time limit for an authorizer and for an integration', async () => {
    stopTimers();
    const invoke = async (name: string) => {
      await nextTurn();
      vi.advanceTimersByTime(60_000);
      await nextTurn();
      return asJson(name === 'Authorizer' ? allow : { statusCode: 200, body: 'late' });
    };
    const { send } = await start({ invoke }, {}, { debug: true });
    expect(await send('POST /orders', [token], '{}')).toMatchObject({ status: 200, body: 'late' });
  });
});
