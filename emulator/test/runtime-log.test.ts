/** Tests the log lines of an invocation: those that the function writes, and those that the Lambda runtime adds. */
import { describe, expect, test } from 'vitest';
import type { LogLevel } from '../served-stack.ts';
import { functionOf } from './kit/one-function.ts';

/** Invokes a function whose handler runs `statements`. @returns the log lines of the invocation */
const logOf = async (statements: string, logLevel?: LogLevel) => {
  const fn = await functionOf(`exports.handler = async () => { ${statements} }`, logLevel ? { logLevel } : {});
  return (await fn.invoke()).log;
};

test('an invocation returns the result, and only the lines that it has logged itself', async () => {
  const fn = await functionOf("exports.handler = async () => { console.info('stored'); return 1 }");
  const expected = { result: '1', log: [{ functionName: 'Fn', level: 'INFO', message: 'stored' }] };
  expect([await fn.invoke(), await fn.invoke()]).toEqual([expected, expected]);
});

test.each([
  ["'100 %s'", { message: '100 %s' }],
  ['null', { message: null }],
  ['{ a: [1] }', { message: { a: [1] } }],
  ['{ id: 2n ** 63n }', { message: '{ id: 9223372036854775808n }' }],
  ['undefined', {}],
  ["{ a: 1 }, 'and more'", { message: '{ a: 1 } and more' }],
  ["'%s!', 'no', 1", { message: 'no! 1' }],
  [
    "'failed:', new RangeError('boom')",
    {
      message: expect.stringMatching(/^failed: RangeError: boom\n/),
      errorType: 'RangeError',
      errorMessage: 'boom',
      stackTrace: expect.arrayContaining(['RangeError: boom']),
    },
  ],
])('the values %s are logged as %j: one as JSON if possible, several as text', async (code, fields) => {
  expect(await logOf(`console.info(${code})`)).toEqual([{ functionName: 'Fn', level: 'INFO', ...fields }]);
});

test("a logged error has its constructor's name, its stack and its enumerable fields, even a field that is an error", async () => {
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

test.each<[LogLevel | undefined, string[]]>([
  [undefined, ['INFO', 'INFO', 'WARN', 'ERROR', 'FATAL']],
  ['TRACE', ['TRACE', 'DEBUG', 'INFO', 'INFO', 'WARN', 'ERROR', 'FATAL']],
  ['WARN', ['WARN', 'ERROR', 'FATAL']],
])('the log level %s keeps only the lines of the levels %j', async (logLevel, levels) => {
  const all = "for (const level of ['trace', 'debug', 'log', 'info', 'warn', 'error', 'fatal']) console[level](level);";
  expect((await logOf(all, logLevel)).map(({ level }) => level)).toEqual(levels);
});

describe('the runtime', () => {
  test.each([
    ["throw new TypeError('oops')", { errorType: 'TypeError', errorMessage: 'oops' }],
    ['throw 7', { errorType: 'Error', errorMessage: '7' }],
  ])('logs a thrown error after the lines that the handler logged: %s', async (statement, message) => {
    expect(await logOf(`console.info('first'); ${statement}`)).toEqual([
      { functionName: 'Fn', level: 'INFO', message: 'first' },
      { functionName: 'Fn', level: 'ERROR', message: { ...message, stackTrace: expect.any(Array) } },
    ]);
  });

  test('logs why a function cannot be loaded', async () => {
    const fn = await functionOf("console.warn('loading'); throw new RangeError('no table')");
    expect((await fn.invoke()).log).toMatchObject([
      { level: 'WARN', message: 'loading' },
      { level: 'ERROR', message: { errorType: 'RangeError', errorMessage: 'no table' } },
    ]);
  });
});
