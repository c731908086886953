/** Runs the command `http-api-emulator` on the output of the CDK. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { App, Stack, Stage } from 'aws-cdk-lib';
import { HttpApi } from 'aws-cdk-lib/aws-apigatewayv2';
import { HttpLambdaIntegration } from 'aws-cdk-lib/aws-apigatewayv2-integrations';
import { AttributeType, TableV2 } from 'aws-cdk-lib/aws-dynamodb';
import { Code, Function as LambdaFunction, Runtime } from 'aws-cdk-lib/aws-lambda';
import { LogGroup } from 'aws-cdk-lib/aws-logs';
import { Queue } from 'aws-cdk-lib/aws-sqs';
import { expect, onTestFinished, test, vi } from 'vitest';
import { temporaryFolder } from './kit/temporary.ts';

const command = path.resolve(import.meta.dirname, '../command/bin.ts');

/** Synthesizes an app anew, with a stack in a stage, whose function logs and returns `greeting`, and an empty stack. */
const synthesize = async (folder: string, greeting: string, { hasQueues = false, hasApi = true } = {}) => {
  // A separate folder, because the CDK stages a folder only once in a process.
  const code = path.join(folder, 'code', greeting);
  await mkdir(code, { recursive: true });
  const handler = `async ({ pathParameters: { name } }) => (console.log('asked', name, new Date(0).getHours()), console.error(new Error('late')), { statusCode: 200, body: \`${greeting} \${process.env.TITLE} \${name}\` })`;
  await writeFile(path.join(code, 'index.js'), `exports.handler = ${handler};`);
  await writeFile(path.join(code, 'broken.js'), "throw new Error('no setting');");
  await rm(path.join(folder, 'cdk.out'), { recursive: true, force: true });
  const app = new App({ outdir: path.join(folder, 'cdk.out'), builtinCloudFormationValidation: false });
  new Stack(app, 'Other');
  const stack = new Stack(new Stage(app, 'Prod'), 'Api');
  const partitionKey = { name: 'id', type: AttributeType.STRING };
  new TableV2(stack, 'Visits', { partitionKey, tableName: 'Visits' });
  if (hasQueues) for (const id of ['Jobs', 'Mails']) new Queue(stack, id);
  const properties = { runtime: Runtime.NODEJS_24_X, handler: 'index.handler', code: Code.fromAsset(code) };
  new LambdaFunction(stack, 'Broken', { ...properties, functionName: 'Broken', handler: 'broken.handler' });
  new LogGroup(stack, 'Logs');
  const hello = new LambdaFunction(stack, 'Hello', { ...properties, functionName: 'Hello' });
  if (!hasApi) return void app.synth();
  const api = new HttpApi(stack, 'HttpApi');
  api.addRoutes({ path: '/hello/{name}', integration: new HttpLambdaIntegration('ToHello', hello) });
  app.synth();
};

test('the command serves a stack of a stage, prints requests, serves changes, keeps a stack that it can serve, and stops', async () => {
  const folder = await temporaryFolder();
  await synthesize(folder, 'Hello', { hasQueues: true });
  await writeFile(path.join(folder, 'options.json'), '{"environment":{"Hello":{"TITLE":"Dr."}}}');
  const options = ['--stack', 'Prod/Api', '--port', '0', '--watch', '--leave-out', '--options', 'options.json'];
  const child = spawn(process.execPath, [command, ...options], { cwd: folder, env: { TZ: 'Asia/Tokyo' } });
  onTestFinished(() => void child.kill('SIGKILL'));
  const printed: string[] = [];
  for (const output of [child.stdout, child.stderr]) output.on('data', (chunk) => void printed.push(String(chunk)));
  const see = (pattern: RegExp) => vi.waitUntil(() => pattern.exec(printed.join('')), { timeout: 60_000 });

  const [, url] = await see(/^Serving at (\S+) \(store: dynalite, data in \.http-api-emulator\):$/m);
  await see(/^ {2}routes: ANY \/hello\/\{name\}\n {2}functions: Broken, Hello\n {2}tables: Visits$/m);
  await see(/^ {2}without effect: Logs\w+ \(AWS::Logs::LogGroup\)$/m);
  await see(/^ {2}left out: Jobs\w+ \(AWS::SQS::Queue\), Mails\w+ \(AWS::SQS::Queue\), because only HTTP APIs/m);
  await see(/^The function Broken .* cannot be loaded: Error: no setting\nBroken ERROR .*\n.*\n +at .*broken\.js:1:7/m);
  const ask = async (headers = {}) => (await fetch(`${url}/hello/Ann`, { headers })).text();
  expect(await ask()).toBe('Hello Dr. Ann');
  await see(
    /^\d\d:\d\d:\d\d GET \/hello\/Ann 200 \d+ ms\n {4}Hello INFO asked Ann 0\n {4}Hello ERROR .*late"}\n {4}Error: late\n {8}at .*index\.js/m,
  );

  await ask({ origin: 'http://shop.example' });
  await see(/GET \/hello\/Ann 200 \d+ ms \(CORS does not let a page of http:\/\/shop\.example read it\)\n/);

  await synthesize(folder, 'Never', { hasApi: false });
  await see(/^The changed stack cannot be served, so the previous one still is: The template has no/m);
  expect(await ask()).toBe('Hello Dr. Ann');
  await synthesize(folder, 'Bye');
  await see(/Serving at.*Serving at/s);
  expect(await ask()).toBe('Bye Dr. Ann');

  child.kill('SIGINT');
  child.kill('SIGINT');
  expect(await once(child, 'exit')).toEqual([0, null]);
  expect(printed.join('')).toMatch(/\nStopping, once running requests have ended\.\n$/);
  expect((await readdir(folder)).toSorted()).toEqual(['.http-api-emulator', 'cdk.out', 'code', 'options.json']);
});

test('the command says what is wrong, and exits with code 1', async () => {
  const folder = await temporaryFolder();
  await synthesize(folder, 'Hello', { hasQueues: true });
  const run = (...args: string[]) =>
    new Promise((resolve) => {
      execFile(process.execPath, args, { cwd: folder }, (error, _, stderr) => resolve([error?.code, stderr]));
    });
  await writeFile(path.join(folder, 'list.json'), '[]');
  await writeFile(path.join(folder, 'port.json'), '{"port":1}');
  const old = 'data:text/javascript,Object.defineProperty(process,"versions",{value:{node:"24.4.1"}})';
  const results: [args: string[], message: string][] = [
    [['--import', old, command], 'http-api-emulator needs Node.js 24.5 or newer, but this is v'],
    [[command, '--prot', '1'], "error: unknown option '--prot'"],
    [[command, '--options', 'missing.json'], "argument 'missing.json' is invalid. ENOENT: no such file or directory"],
    [[command, '--options', 'list.json'], "argument 'list.json' is invalid. It must be an object."],
    [[command, '--options', 'port.json'], "argument 'port.json' is invalid. The command has an argument for port."],
    [[command, 'dist'], 'dist/manifest.json is missing. Run `cdk synth` first'],
    [[command], 'AWS::SQS::Queue'],
  ];
  const ended = await Promise.all(results.map(([args]) => run(...args)));
  expect(ended).toEqual(results.map(([, message]) => [1, expect.stringContaining(message)]));
});
