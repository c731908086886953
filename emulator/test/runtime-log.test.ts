/** Tests the log lines of an invocation: those that the function writes, and those that the Lambda runtime adds. */
import { describe, expect, test } from 'vitest';
import type { LogLevel } from '../served-stack.ts';
import { functionOf } from './kit/one-function.ts';

/** Invokes a function whose handler runs `statements`. @returns the log lines of the invocation */
const logOf = async (statements: string, logLevel?: LogLevel) => {
  const fn = await functionOf(`exports.handler = async () => { ${statements} }`, logLevel ? { logLevel } : {});
  return (await fn.invoke()).log;
};

test('an invocation returns the result and the lines that the function logged', async () => {
  const fn = await functionOf("exports.handler = async () => { console.info({ outcome: 'stored' }); return 1 }");
  const expected = {
    result: '1',
    log: [{ functionName: 'Fn', level: 'INFO', message: { outcome: 'stored' } }],
  };
  expect(await fn.invoke()).toEqual(expected);
  expect(await fn.invoke()).toEqual(expected);
});

describe('a single logged value', () => {
  test.each([
    ["'100 %s'", '100 %s'],
    ['7', 7],
    ['null', null],
    ['{ a: [1] }', { a: [1] }],
    ['{ id: 2n ** 63n }', '{ id: 9223372036854775808n }'],
    ['(() => { const a = {}; a.a = a; return a })()', '<ref *1> { a: [Circular *1] }'],
  ])('%s is logged as %j (as JSON if possible, and otherwise as text)', async (code, message) => {
    expect(await logOf(`console.info(${code})`)).toEqual([{ functionName: 'Fn', level: 'INFO', message }]);
  });

  test.each(["Symbol('s')", 'undefined'])('%s is logged as a line that has no field `message`', async (code) => {
    expect(await logOf(`console.info(${code})`)).toEqual([{ functionName: 'Fn', level: 'INFO' }]);
  });
});

describe('several values logged at once', () => {
  test('are formatted as one string', async () => {
    expect(await logOf("console.info({ a: 1 }, 'and more'); console.info('%s!', 'no', 1)")).toMatchObject([
      { message: '{ a: 1 } and more' },
      { message: 'no! 1' },
    ]);
  });

  test('are formatted as one string; if one is an error, the log line also has fields that describe it', async () => {
    expect(await logOf("console.warn('failed:', new RangeError('boom'))")).toEqual([
      {
        functionName: 'Fn',
        level: 'WARN',
        message: expect.stringMatching(/^failed: RangeError: boom\n/),
        errorType: 'RangeError',
        errorMessage: 'boom',
        stackTrace: expect.arrayContaining(['RangeError: boom']),
      },
    ]);
  });
});

describe('a logged error', () => {
  test("has its constructor's name, the lines of its stack and its enumerable fields in the log, even a field that contains an error", async () => {
    const [line] = await logOf(`
      class OrderError extends TypeError { name = 'Renamed' }
      const error = new OrderError('boom', { cause: new Error('a cause is not enumerable') });
      console.error({ failed: Object.assign(error, { code: 'E1', $response: new RangeError('nested') }) });`);
    expect(line).toEqual({
      functionName: 'Fn',
      level: 'ERROR',
      message: {
        failed: {
          errorType: 'OrderError',
          errorMessage: 'boom',
          stackTrace: expect.arrayContaining([expect.stringMatching(/^ {4}at .*index\.js/)]),
          name: 'Renamed',
          code: 'E1',
          $response: { errorType: 'RangeError', errorMessage: 'nested', stackTrace: expect.any(Array) },
        },
      },
    });
  });
});

describe('the log level', () => {
  const all = "for (const level of ['trace', 'debug', 'log', 'info', 'warn', 'error', 'fatal']) console[level](level);";
  test.each<[LogLevel | undefined, string[]]>([
    [undefined, ['INFO', 'INFO', 'WARN', 'ERROR', 'FATAL']],
    ['TRACE', ['TRACE', 'DEBUG', 'INFO', 'INFO', 'WARN', 'ERROR', 'FATAL']],
    ['DEBUG', ['DEBUG', 'INFO', 'INFO', 'WARN', 'ERROR', 'FATAL']],
    ['WARN', ['WARN', 'ERROR', 'FATAL']],
    ['FATAL', ['FATAL']],
  ])('%s keeps only the lines of the levels %j', async (logLevel, levels) => {
    expect((await logOf(all, logLevel)).map(({ level }) => level)).toEqual(levels);
  });
});

describe('the runtime', () => {
  test.each([
    ["throw new TypeError('oops')", { errorType: 'TypeError', errorMessage: 'oops' }],
    ["await Promise.reject(new TypeError('oops'))", { errorType: 'TypeError', errorMessage: 'oops' }],
    ['throw 7', { errorType: 'Error', errorMessage: '7' }],
    ['throw { code: 1 }', { errorType: 'Error', errorMessage: '[object Object]' }],
    ['throw undefined', { errorType: 'Error', errorMessage: 'undefined' }],
  ])('logs a thrown error after the lines that the handler logged: %s', async (statement, message) => {
    expect(await logOf(`console.info('first'); ${statement}`)).toEqual([
      { functionName: 'Fn', level: 'INFO', message: 'first' },
      { functionName: 'Fn', level: 'ERROR', message: { ...message, stackTrace: expect.any(Array) } },
    ]);
  });

  test('adds no log line if a handler returns an error response', async () => {
    expect(await logOf("console.error('stored nothing'); return { statusCode: 500 }")).toHaveLength(1);
  });

  test('logs why a function cannot be loaded', async () => {
    const fn = await functionOf("console.warn('loading'); throw new RangeError('no table')");
    expect((await fn.invoke()).log).toMatchObject([
      { level: 'WARN', message: 'loading' },
      { level: 'ERROR', message: { errorType: 'RangeError', errorMessage: 'no table' } },
    ]);
  });
});
