/**
 * Tests what the Lambda runtime passes to a function, what it does with the result and the log, and how it finds the
 * handler.
 */
import tls from 'node:tls';
import { generate } from 'selfsigned';
import { describe, expect, test, vi } from 'vitest';
import type { LogLevel } from '../lambda/reports.ts';
import { folderWith, functionOf, resultOf, returned, timeout } from './kit/one-function.ts';
import { account } from './kit/templates.ts';

/** Code of a handler whose event is JavaScript code. It returns the value of that code. */
const evaluating = 'exports.handler = async (code) => eval(code)';

test('the result of a function is passed to the caller as JSON, or the invocation fails', async () => {
  const { invoke } = await functionOf(evaluating);
  expect(await invoke("({ a: [1, null, 'é'] })")).toMatchObject({ result: '{"a":[1,null,"é"]}' });
  expect(await invoke('undefined')).toMatchObject({ result: 'null' });
  const failure = 'Runtime.JSONStringifyError: Unable to stringify response body';
  expect(await invoke('1n')).toMatchObject({ failure });
});

test('the context of a handler has the same fields as on AWS Lambda, with the ARN and the version that were invoked', async () => {
  const env = 'env: process.env.AWS_LAMBDA_FUNCTION_VERSION';
  const { functions } = await functionOf(`exports.handler = async (_, context) => ({ ...context, ${env} })`);
  const arn = 'arn:aws:lambda:us-east-1:000000000000:function:Fn:live';
  expect(resultOf(await functions.invoke({ functionName: 'Fn', arn, version: '7' }, {}))).toEqual({
    invokedFunctionArn: arn,
    awsRequestId: expect.stringMatching(/^[0-9a-f-]{36}$/),
    xRayTraceId: expect.stringContaining('Root=1-'),
    functionName: 'Fn',
    functionVersion: '7',
    memoryLimitInMB: '128',
    logGroupName: '/aws/lambda/Fn',
    logStreamName: expect.stringMatching(/^\d{4}\/\d\d\/\d\d\/\[\$LATEST\][0-9a-f]{32}$/),
    env: '7',
  });
});

test("the context tells how much time is left until the time-out, which is the spec's latest", async () => {
  const fn = await functionOf('exports.handler = async (_, context) => context.getRemainingTimeInMillis() / 1000');
  expect(resultOf(await fn.invoke())).toBeCloseTo(timeout / 1000, -2);
  fn.spec.timeout = 2 * timeout;
  expect(resultOf(await fn.invoke())).toBeCloseTo((2 * timeout) / 1000, -2);
});

describe('the environment of a function', () => {
  test("has the function's variables and those that Lambda sets, but none of the variables of the emulator's process", async () => {
    vi.stubEnv('NODE_COMPILE_CACHE', await folderWith({}));
    const environment = { TABLE_NAME: 't', AWS_LAMBDA_FUNCTION_NAME: 'reserved' };
    const code = 'exports.handler = async () => ({ ...process.env })';
    expect(await returned(code, { environment, logLevel: 'WARN' })).toEqual({
      TABLE_NAME: 't',
      _HANDLER: 'index.handler',
      _X_AMZN_TRACE_ID: expect.any(String),
      AWS_DEFAULT_REGION: account.region,
      AWS_EXECUTION_ENV: 'AWS_Lambda_nodejs24.x',
      AWS_LAMBDA_FUNCTION_MEMORY_SIZE: '128',
      AWS_LAMBDA_FUNCTION_NAME: 'Fn',
      AWS_LAMBDA_FUNCTION_VERSION: '$LATEST',
      AWS_LAMBDA_INITIALIZATION_TYPE: 'on-demand',
      AWS_LAMBDA_LOG_FORMAT: 'JSON',
      AWS_LAMBDA_LOG_GROUP_NAME: '/aws/lambda/Fn',
      AWS_LAMBDA_LOG_LEVEL: 'WARN',
      AWS_LAMBDA_LOG_STREAM_NAME: expect.any(String),
      AWS_REGION: account.region,
      LAMBDA_TASK_ROOT: expect.stringContaining('emulator-test-'),
      TZ: ':UTC',
    });
  });

  test('has the TZ that the function sets, and no AWS_LAMBDA_LOG_LEVEL if the log format is Text', async () => {
    const code =
      "exports.handler = async () => ['TZ', 'AWS_LAMBDA_LOG_FORMAT', 'AWS_LAMBDA_LOG_LEVEL'].map((name) => process.env[name])";
    const spec = { environment: { TZ: 'Asia/Tokyo' }, logLevel: undefined };
    // A logger then follows its own setting.
    expect(await returned(code, spec)).toEqual(['Asia/Tokyo', 'Text', null]);
  });

  test('has the trace id from the request header x-amzn-trace-id, or a new trace id if that header is missing', async () => {
    const code = 'exports.handler = async (_, context) => [process.env._X_AMZN_TRACE_ID, context.xRayTraceId].join()';
    const fn = await functionOf(code);
    const given = 'Root=1-5759e988-bd862e3fe1be46a994272793;Parent=557abcec3ee5a047;Sampled=1';
    expect(resultOf(await fn.invoke({ headers: { 'x-amzn-trace-id': given } }))).toBe(`${given},${given}`);
    const [first, second] = [resultOf(await fn.invoke()), resultOf(await fn.invoke({ headers: null }))];
    expect(first).toMatch(/^(Root=1-[0-9a-f]{8}-[0-9a-f]{24};Parent=[0-9a-f]{16};Sampled=0),\1$/);
    expect(first).not.toEqual(second);
  });

  test("makes the function trust the user's certificates as well as the default certificate authorities", async () => {
    const { cert } = await generate([{ name: 'commonName', value: 'an issuer' }], { keyType: 'ec' });
    const code = "exports.handler = async () => require('node:tls').getCACertificates('default').length";
    const fn = await functionOf(code, {}, { certificates: [cert] });
    expect(resultOf(await fn.invoke())).toBeGreaterThan(tls.rootCertificates.length);
  });
});

describe('the handler', () => {
  test.each([
    ['100% #1?/index.handler', '100% #1?/index.mjs', 'export const handler = await (async () => () => 1)()'],
    ['./src/orders.api.create', 'src/orders.js', 'exports.api = { create: () => 1 }'],
    ['index.handler', 'index.mjs', 'export default { handler: () => 1 }'],
  ])('named %s is found in the file %s with the code: %s', async (handler, file, code) => {
    expect(await returned({ [file]: code }, { handler })).toBe(1);
  });

  test.each<[why: string, code: string | Record<string, string>, reason: string, handler?: string]>([
    ['throws while it loads', "throw new Error('no TABLE_NAME')", 'Error: no TABLE_NAME\nFn ERROR '],
    ['has a syntax error', 'const a = 1;\nconst = 2;', 'UserCodeSyntaxError: SyntaxError: .* \\(/.*/index\\.js:2\\)'],
    [
      'is a broken ES module',
      { 'index.mjs': 'export const = 2;' },
      'UserCodeSyntaxError: SyntaxError: .* \\(.*/index\\.mjs\\)',
    ],
    ['requires a missing module', "require('./gone')", "ImportModuleError: Error: Cannot find module './gone'"],
    ['exports no handler', 'exports.other = 1', 'HandlerNotFound: index.handler is undefined or not exported'],
    ['exports a callback handler', 'exports.handler = (e, c, done) => done()', 'CallbackHandlerDeprecated: '],
    ['exits while it loads', 'process.exit(0)', 'ExitError: Runtime exited without providing a reason$'],
    ['is missing', '', 'ImportModuleError: ', 'gone.handler'],
    ['has a name without an export', '', 'MalformedHandlerName: ', 'index'],
    ['is outside of the folder', '', 'MalformedHandlerName: ', '../index.handler'],
  ])('cannot be loaded if its module %s', async (_, code, reason, handler = 'index.handler') => {
    const { functions, spec } = await functionOf(code, { handler });
    const message = `The function Fn (handler ${handler} in ${spec.folder}) cannot be loaded: `;
    const failure = await functions.warmUp().catch(({ message }) => message);
    expect(failure).toContain(message);
    expect(failure.replace(message, '')).toMatch(new RegExp(`^(Runtime\\.)?${reason}`));
  });
});

/** Runs each of these statements in one function. @returns the log lines of each */
const logsOf = async (statements: string[], logLevel: LogLevel = 'INFO') => {
  const { invoke } = await functionOf(evaluating, { logLevel });
  const logs = [];
  for (const each of statements) logs.push((await invoke(each)).log);
  return logs;
};

const ofFn = (level: string, ...messages: unknown[]) =>
  messages.map((message) => ({ functionName: 'Fn', level, message }));

test("a logged error has its constructor's name, its stack and its enumerable fields, even a field that is an error", async () => {
  const [[line] = []] = await logsOf([
    `
    class OrderError extends TypeError { name = 'Renamed' }
    const error = new OrderError('boom', { cause: new Error('a cause is not enumerable') });
    console.error({ failed: Object.assign(error, { code: 'E1', $response: new RangeError('nested') }) });`,
  ]);
  const stackTrace = expect.arrayContaining([expect.stringMatching(/^ {4}at .*index\.js/)]);
  const $response = { errorType: 'RangeError', errorMessage: 'nested', stackTrace: expect.any(Array) };
  const failed = { errorType: 'OrderError', errorMessage: 'boom', stackTrace, name: 'Renamed', code: 'E1', $response };
  expect(line).toEqual(ofFn('ERROR', { failed })[0]);
});

test.each<[LogLevel, string[]]>([
  ['INFO', ['INFO', 'INFO', 'WARN', 'ERROR', 'FATAL']],
  ['TRACE', ['TRACE', 'DEBUG', 'INFO', 'INFO', 'WARN', 'ERROR', 'FATAL']],
])('the log level %s keeps only the lines of the levels %j', async (logLevel, levels) => {
  const all = "for (const level of ['trace', 'debug', 'log', 'info', 'warn', 'error', 'fatal']) console[level](level);";
  const [lines = []] = await logsOf([all], logLevel);
  expect(lines.map(({ level }) => level)).toEqual(levels);
});

test('each value and each line that a function logs, writes to stdout or stderr, or throws is in the log, as JSON if possible', async () => {
  const failed = { errorType: 'RangeError', errorMessage: 'boom', stackTrace: expect.any(Array) };
  const thrown = { errorType: 'Error', errorMessage: '7', stackTrace: expect.any(Array) };
  const lines = {
    "console.info('100 %s')": ofFn('INFO', '100 %s'),
    'console.info({ a: [1] })': ofFn('INFO', { a: [1] }),
    'console.info({ id: 2n ** 63n })': ofFn('INFO', '{ id: 9223372036854775808n }'),
    "console.info('%s!', 'no', 1)": ofFn('INFO', 'no! 1'),
    "console.info('failed:', new RangeError('boom'))": [
      { ...ofFn('INFO', expect.stringMatching(/^failed: RangeError: boom\n/))[0], ...failed },
    ],
    "process.stdout.write('one\\ntw'); process.stdout.write(Buffer.from('o\\n'))": ofFn('INFO', 'one', 'two'),
    "process.stdout.write('no line break')": ofFn('INFO', 'no line break'),
    "process.stderr.write('one\\n')": ofFn('ERROR', 'one'),
    'new console.Console(process.stdout).log({ a: 1 })': ofFn('INFO', '{ a: 1 }'),
    'process.stdout.write(\'{"level":"warn","a":1}\\n\')': ofFn('WARN', { level: 'warn', a: 1 }),
    'process.stdout.write(\'{"level":3}\\n[1\\n\')': ofFn('INFO', { level: 3 }, '[1'),
    "console.info('first'); throw 7": [...ofFn('INFO', 'first'), ...ofFn('ERROR', thrown)],
  };
  expect(await logsOf(Object.keys(lines))).toEqual(Object.values(lines));
});
