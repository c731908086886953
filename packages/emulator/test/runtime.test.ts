/**
 * Tests what the Lambda runtime passes to a function, what it does with the result and the log, and how it finds the
 * handler.
 */
import tls from 'node:tls';
import { generate } from 'selfsigned';
import { describe, expect, test, vi } from 'vitest';
import type { LogLevel } from '../lambda/reports.ts';
import { folderWith, functionOf, resultOf, returned, timeout } from './kit/one-function.ts';
import { account } from './kit/template-parts.ts';

test.each<[code: string, outcome: object]>([
  ['({ event })', { result: '{"event":{"a":[1,null,"é"]}}' }],
  ['undefined', { result: 'null' }],
  ['1n', { failure: 'Runtime.JSONStringifyError: Unable to stringify response body' }],
])('the result %s of a function is passed to the caller as JSON, or the invocation fails', async (value, outcome) => {
  const fn = await functionOf(`exports.handler = async (event) => (${value})`);
  expect(await fn.invoke({ a: [1, null, 'é'] })).toMatchObject(outcome);
});

test('the context of a handler has the same fields as on AWS Lambda, with the ARN and the version that were invoked', async () => {
  const { functions } = await functionOf(
    'exports.handler = async (_, context) => ({ ...context, env: process.env.AWS_LAMBDA_FUNCTION_VERSION })',
  );
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

test.each<[handler: string, outcome: object]>([
  ['(event, context, callback) => setTimeout(callback, 1, null, 1)', { result: '1' }],
  ["(event, context, callback) => callback(new Error('no'))", { failure: 'Error: no' }],
  ['(event, context) => context.succeed(1)', { result: '1' }],
  ["(event, context) => context.fail(new Error('no'))", { failure: 'Error: no' }],
  ['function (event, context) { context.done(null, 1); arguments[2](null, 2) }', { result: '1' }],
  ['async (event, context, callback) => callback(null, 1)', { result: '1' }],
  ["() => { throw new Error('no') }", { failure: 'Error: no' }],
  // As on Lambda, such a handler has returned before its result is there, so only a promise counts.
  ['() => 1', { result: 'null' }],
  ['() => Promise.resolve(1)', { result: '1' }],
  // As on Lambda, the result waits until nothing is left to run, unless the handler says otherwise.
  ['(event, _, callback) => { setTimeout(() => event.push(1), 1); callback(null, event) }', { result: '[1]' }],
  [
    '(event, context, callback) => { context.callbackWaitsForEmptyEventLoop = false; setInterval(() => {}); callback() }',
    { result: 'null' },
  ],
])(
  'under nodejs22.x, a handler may take a callback or use the methods of the context: %s',
  async (handler, outcome) => {
    const fn = await functionOf(`exports.handler = ${handler}`, { runtime: 'nodejs22.x' });
    expect(await fn.invoke([])).toMatchObject(outcome);
    expect(await fn.invoke([]), 'the next event').toMatchObject(outcome);
  },
);

describe('the environment of a function', () => {
  test("has the function's variables and those that Lambda sets, but none of the variables of the emulator's process", async () => {
    vi.stubEnv('NODE_COMPILE_CACHE', await folderWith({}));
    const environment = { TABLE_NAME: 't', AWS_LAMBDA_FUNCTION_NAME: 'reserved' };
    expect(
      await returned('exports.handler = async () => ({ ...process.env })', { environment, logLevel: 'WARN' }),
    ).toEqual({
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

  test('has the TZ of the function, if it sets one', async () => {
    const environment = { TZ: 'Asia/Tokyo' };
    expect(await returned('exports.handler = async () => process.env.TZ', { environment })).toBe('Asia/Tokyo');
  });

  test('has no AWS_LAMBDA_LOG_LEVEL if the log format is Text, so that a logger follows its own setting', async () => {
    const code = 'exports.handler = async () => [process.env.AWS_LAMBDA_LOG_FORMAT, process.env.AWS_LAMBDA_LOG_LEVEL]';
    expect(await returned(code, { logLevel: undefined })).toEqual(['Text', null]);
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
  const commonJs = 'exports.handler = () => 1';
  const sdk = '@aws-sdk/client-dynamodb';
  test.each([
    ['index.handler', 'index.js', commonJs],
    ['index.handler', 'index.cjs', commonJs],
    ['100% #1?/index.handler', '100% #1?/index.mjs', 'export const handler = await (async () => () => 1)()'],
    ['./src/orders.handler', 'src/orders.js', commonJs],
    ['index.orders.create', 'index.js', 'exports.orders = { create: () => 1 }'],
    ['index.handler', 'index.mjs', 'export default { handler: () => 1 }'],
    // On Lambda, the AWS SDK is preinstalled.
    ['index.handler', 'index.js', `const { DynamoDB } = require('${sdk}'); exports.handler = () => DynamoDB && 1`],
    ['index.handler', 'index.mjs', `import { DynamoDB } from '${sdk}'; export const handler = () => DynamoDB && 1`],
  ])('named %s is found in the file %s with the code: %s', async (handler, file, code) => {
    expect(await returned({ [file]: code }, { handler })).toBe(1);
  });

  test.each([
    ['throws while it loads', "throw new Error('no TABLE_NAME')", 'Error: no TABLE_NAME'],
    ['does not parse', 'exports.handler = (', 'Runtime.UserCodeSyntaxError: SyntaxError: '],
    ['requires a missing module', "require('./gone')", "Runtime.ImportModuleError: Error: Cannot find module './gone'"],
    ['exports no handler', 'exports.other = 1', 'Runtime.HandlerNotFound: index.handler is undefined or not exported'],
    ['exports a callback handler', 'exports.handler = (e, c, done) => done()', 'Runtime.CallbackHandlerDeprecated: '],
    ['exits while it loads', 'process.exit(0)', 'Runtime.ExitError: Runtime exited without providing a reason'],
  ])('cannot be loaded, and each invocation fails, if its module %s', async (_, code, reason) => {
    const fn = await functionOf(code);
    await expect(fn.functions.warmUp()).rejects.toThrow(
      `The function Fn (handler index.handler in ${fn.spec.folder}) cannot be loaded: ${reason}`,
    );
    const { log, ...outcome } = await fn.invoke();
    expect(outcome).toMatchObject({ failure: expect.stringContaining(reason) });
    expect(log.map(({ level }) => level)).toEqual(code.startsWith('process') ? [] : ['ERROR']);
  });

  test.each([
    ['with a syntax error in CommonJS', 'index.js', `${commonJs};\nconst = 2;`, /index\.js:2\)$/m],
    ['with a syntax error in an ES module', 'index.mjs', 'export const = 2;', /index\.mjs\)$/m],
  ])('%s cannot be loaded, and the message helps', async (_, file, code, message) => {
    await expect((await functionOf({ [file]: code })).functions.warmUp()).rejects.toThrow(message);
  });

  test.each([
    ['gone.handler', 'Runtime.ImportModuleError'],
    ['index', 'Runtime.MalformedHandlerName'],
    ['../index.handler', 'Runtime.MalformedHandlerName'],
  ])('cannot be loaded by the name %s, which is malformed or names a missing file', async (handler, reason) => {
    await expect((await functionOf(commonJs, { handler })).functions.warmUp()).rejects.toThrow(reason);
  });
});

/** Invokes a function whose handler runs `statements`. @returns the log lines of the invocation */
const logOf = async (statements: string, logLevel?: LogLevel) => {
  const fn = await functionOf(`exports.handler = async () => { ${statements} }`, logLevel ? { logLevel } : {});
  return (await fn.invoke()).log;
};

test.each([
  ["'100 %s'", { message: '100 %s' }],
  ['{ a: [1] }', { message: { a: [1] } }],
  ['{ id: 2n ** 63n }', { message: '{ id: 9223372036854775808n }' }],
  ["'%s!', 'no', 1", { message: 'no! 1' }],
  [
    "'failed:', new RangeError('boom')",
    { message: expect.stringMatching(/^failed: RangeError: boom\n/), errorType: 'RangeError', errorMessage: 'boom' },
  ],
])('the values %s are logged as %j: one as JSON if possible, several as text', async (code, fields) => {
  expect(await logOf(`console.info(${code})`)).toMatchObject([{ functionName: 'Fn', level: 'INFO', ...fields }]);
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
])('the log level %s keeps only the lines of the levels %j', async (logLevel, levels) => {
  const all = "for (const level of ['trace', 'debug', 'log', 'info', 'warn', 'error', 'fatal']) console[level](level);";
  expect((await logOf(all, logLevel)).map(({ level }) => level)).toEqual(levels);
});

test.each([
  ["process.stdout.write('one\\ntw'); process.stdout.write(Buffer.from('o\\n'))", ['one', 'two'], 'INFO'],
  ["process.stdout.write('no line break')", ['no line break'], 'INFO'],
  ["process.stderr.write('one\\n')", ['one'], 'ERROR'],
  ['new console.Console(process.stdout).log({ a: 1 })', ['{ a: 1 }'], 'INFO'],
  ['process.stdout.write(\'{"level":"warn","a":1}\\n\')', [{ level: 'warn', a: 1 }], 'WARN'],
  ['process.stdout.write(\'{"level":3}\\n[1\\n\')', [{ level: 3 }, '[1'], 'INFO'],
])('each line that a function writes to stdout or stderr is in the log: %s', async (code, messages, level) => {
  const fn = await functionOf(`exports.handler = async () => { ${code} }`);
  const lines = messages.map((message) => ({ functionName: 'Fn', level, message }));
  expect((await fn.invoke()).log).toEqual(lines);
  expect((await fn.invoke()).log, 'the next event').toEqual(lines);
});

test('a thrown value is logged as an error after the lines that the handler logged', async () => {
  const message = { errorType: 'Error', errorMessage: '7', stackTrace: expect.any(Array) };
  expect(await logOf("console.info('first'); throw 7")).toEqual([
    { functionName: 'Fn', level: 'INFO', message: 'first' },
    { functionName: 'Fn', level: 'ERROR', message },
  ]);
});
