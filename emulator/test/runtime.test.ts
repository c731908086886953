/** Tests what the Lambda runtime passes to a function, what it does with the result, and how it finds the handler. */
import tls from 'node:tls';
import { generate } from 'selfsigned';
import { describe, expect, test, vi } from 'vitest';
import { folderWith, functionOf, resultOf, timeout } from './kit/one-function.ts';

test.each([
  ['exports.handler = async (event) => ({ event, undef: undefined })', { event: { a: [1, null, 'é'] } }],
  ['exports.handler = async () => {}', null],
  ['exports.handler = () => 1', 1],
])('the result of the function %s is passed to the caller as JSON', async (code, result) => {
  expect(resultOf(await (await functionOf(code)).invoke({ a: [1, null, 'é'] }))).toEqual(result);
});

test('an invocation fails if JSON cannot represent its result', async () => {
  expect(await (await functionOf('exports.handler = async () => 1n')).invoke()).toMatchObject({
    failure: 'Runtime.JSONStringifyError: Unable to stringify response body',
    log: [{ level: 'ERROR', message: { errorType: 'JSONStringifyError' } }],
  });
});

describe('the context of a handler', () => {
  test('has the same fields as on AWS Lambda, with the ARN and the version that were invoked', async () => {
    const { functions } = await functionOf(
      'exports.handler = async (_, context) => ({ ...context, env: process.env.AWS_LAMBDA_FUNCTION_VERSION })',
    );
    const arn = 'arn:aws:lambda:us-east-1:000000000000:function:Fn:live';
    const outcome = await functions.invoke({ functionName: 'Fn', arn, version: '7' }, {});
    expect(resultOf(outcome)).toEqual({
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

  test('has the unqualified ARN and the version $LATEST if the function is invoked by its name', async () => {
    const fn = await functionOf(
      'exports.handler = async (_, context) => [context.invokedFunctionArn, context.functionVersion]',
    );
    expect(resultOf(await fn.invoke())).toEqual([expect.stringMatching(/:000000000000:function:Fn$/), '$LATEST']);
  });

  test("tells how much time is left until the time-out, which is the spec's latest", async () => {
    const fn = await functionOf('exports.handler = async (_, context) => context.getRemainingTimeInMillis()');
    const left = Number(resultOf(await fn.invoke()));
    expect(left, 'milliseconds left').toBeGreaterThan(0);
    expect(left, 'milliseconds left').toBeLessThanOrEqual(timeout);
    fn.spec.timeout = 2 * timeout;
    expect(Number(resultOf(await fn.invoke())), 'milliseconds left').toBeGreaterThan(timeout);
  });
});

describe('the environment of a function', () => {
  test("has the function's variables and those that Lambda sets, but none of the variables of the emulator's process", async () => {
    vi.stubEnv('NODE_COMPILE_CACHE', await folderWith({}));
    const fn = await functionOf('exports.handler = async () => ({ ...process.env })', {
      environment: { TABLE_NAME: 't', AWS_LAMBDA_FUNCTION_NAME: 'reserved' },
      logLevel: 'WARN',
    });
    expect(resultOf(await fn.invoke())).toEqual({
      TABLE_NAME: 't',
      _HANDLER: 'index.handler',
      _X_AMZN_TRACE_ID: expect.any(String),
      AWS_DEFAULT_REGION: 'us-east-1',
      AWS_EXECUTION_ENV: 'AWS_Lambda_nodejs24.x',
      AWS_LAMBDA_FUNCTION_MEMORY_SIZE: '128',
      AWS_LAMBDA_FUNCTION_NAME: 'Fn',
      AWS_LAMBDA_FUNCTION_VERSION: '$LATEST',
      AWS_LAMBDA_INITIALIZATION_TYPE: 'on-demand',
      AWS_LAMBDA_LOG_FORMAT: 'JSON',
      AWS_LAMBDA_LOG_GROUP_NAME: '/aws/lambda/Fn',
      AWS_LAMBDA_LOG_LEVEL: 'WARN',
      AWS_LAMBDA_LOG_STREAM_NAME: expect.any(String),
      AWS_REGION: 'us-east-1',
      LAMBDA_TASK_ROOT: fn.spec.folder,
      TZ: ':UTC',
    });
  });

  test('has the trace id from the request header x-amzn-trace-id, or a new trace id if that header is missing', async () => {
    const fn = await functionOf(
      'exports.handler = async (_, context) => [process.env._X_AMZN_TRACE_ID, context.xRayTraceId]',
    );
    const given = 'Root=1-5759e988-bd862e3fe1be46a994272793;Parent=557abcec3ee5a047;Sampled=1';
    expect(resultOf(await fn.invoke({ headers: { 'x-amzn-trace-id': given } }))).toEqual([given, given]);
    const [first, second] = [resultOf(await fn.invoke()), resultOf(await fn.invoke({ headers: null }))];
    const made = expect.stringMatching(/^Root=1-[0-9a-f]{8}-[0-9a-f]{24};Parent=[0-9a-f]{16};Sampled=0$/);
    expect([first, second]).toEqual([
      [made, made],
      [made, made],
    ]);
    expect(first).not.toEqual(second);
  });

  test("makes the function trust the user's certificates as well as the default certificate authorities", async () => {
    const { cert } = await generate([{ name: 'commonName', value: 'an issuer' }], { keyType: 'ec' });
    const code = "exports.handler = async () => require('node:tls').getCACertificates('default').length";
    const fn = await functionOf(code, {}, [cert]);
    expect(resultOf(await fn.invoke())).toBeGreaterThan(tls.rootCertificates.length);
  });
});

describe('the handler', () => {
  const commonJs = 'exports.handler = () => 1';
  test.each([
    ['index.handler', 'index.js', commonJs],
    ['index.handler', 'index.cjs', commonJs],
    ['index.handler', 'index.mjs', 'export const handler = () => 1'],
    ['index.handler', 'index.js', 'export const handler = () => 1'],
    ['100% #1?/index.handler', '100% #1?/index.mjs', 'export const handler = await (async () => () => 1)()'],
    ['./src/orders.handler', 'src/orders.js', commonJs],
    ['index.orders.create', 'index.js', 'exports.orders = { create: () => 1 }'],
    ['index.handler', 'index.mjs', 'export default { handler: () => 1 }'],
  ])('named %s is found in the file %s with the code: %s', async (handler, file, code) => {
    expect(resultOf(await (await functionOf({ [file]: code }, { handler })).invoke())).toBe(1);
  });

  test.each([
    ['throws while it loads', "throw new Error('no TABLE_NAME')", 'Error: no TABLE_NAME'],
    ['throws a value that is not an Error while it loads', 'throw 7', 'number: 7'],
    ['does not parse', 'exports.handler = (', 'Runtime.UserCodeSyntaxError: SyntaxError: '],
    ['requires a missing module', "require('./gone')", "Runtime.ImportModuleError: Error: Cannot find module './gone'"],
    ['exports no handler', 'exports.other = 1', 'Runtime.HandlerNotFound: index.handler is undefined or not exported'],
    ['exports a string as its handler', "exports.handler = 'x'", 'Runtime.HandlerNotFound: index.handler is not a'],
    ['exports a callback handler', 'exports.handler = (e, c, done) => done()', 'Runtime.CallbackHandlerDeprecated: '],
    ['exits while it loads', 'process.exit(0)', 'Runtime.ExitError: Runtime exited without providing a reason'],
  ])('cannot be loaded, and each invocation fails, if its module %s', async (_, code, reason) => {
    const fn = await functionOf(code);
    await expect(fn.functions.warmUp()).rejects.toThrow(
      /^The function Fn \(handler index.handler in .*\) cannot be loaded: /,
    );
    await expect(fn.functions.warmUp()).rejects.toThrow(reason);
    expect(await fn.invoke()).toMatchObject({ failure: expect.stringContaining(reason) });
  });

  test.each([
    ['index.js', 'exports.handler = () => 1;\nconst = 2;', /index\.js:2\)$/],
    ['index.mjs', 'export const handler = () => 1;\nconst = 2;', /index\.mjs\)$/],
  ])(
    'with a syntax error is reported with its file name, and with the line number if Node.js gives one: %s',
    async (file, code, place) => {
      await expect((await functionOf({ [file]: code })).functions.warmUp()).rejects.toThrow(place);
    },
  );

  test.each([
    ['index.js', "const { PutItemCommand } = require('@aws-sdk/client-dynamodb');"],
    ['index.mjs', "import { PutItemCommand } from '@aws-sdk/client-dynamodb';"],
  ])("may import the AWS SDK's DynamoDB client without bundling it, as on Lambda: %s", async (file, statement) => {
    const exported = file.endsWith('.mjs') ? 'export const handler' : 'exports.handler';
    const fn = await functionOf({ [file]: `${statement} ${exported} = () => PutItemCommand.name` });
    expect(resultOf(await fn.invoke())).toBe('PutItemCommand');
  });

  test.each([
    ['index.js', "require('@aws-sdk/lib-dynamodb');"],
    ['index.mjs', "import '@aws-sdk/lib-dynamodb';"],
  ])(
    'cannot import packages of the AWS SDK other than the DynamoDB client, and the error says to bundle them: %s',
    async (file, statement) => {
      const fn = await functionOf({ [file]: statement });
      await expect(fn.functions.warmUp()).rejects.toThrow(
        /Cannot find (module|package) '@aws-sdk\/lib-dynamodb'.*Bundle that package with the function: the emulator provides only @aws-sdk\/client-dynamodb\./s,
      );
    },
  );

  test.each([
    ['gone.handler', 'Runtime.ImportModuleError'],
    ['index', 'Runtime.MalformedHandlerName'],
    ['../index.handler', 'Runtime.MalformedHandlerName'],
  ])('cannot be loaded by the name %s, which is malformed or names a missing file', async (handler, reason) => {
    const fn = await functionOf(commonJs, { handler });
    await expect(fn.functions.warmUp()).rejects.toThrow(reason);
  });
});
