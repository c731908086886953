/** Tests runApp with small apps, which write a cloud assembly themselves. */
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { testFolder } from '@lambda-service/testing/programs';
import { until } from '@lambda-service/testing/waiting';
import { beforeEach, expect, test } from 'vitest';
import { runApp } from '../app.ts';

let folder: string;
beforeEach(async () => {
  folder = await testFolder();
});

/** Writes a project whose app is this code. */
const write = async (code: string, context = {}) => {
  await writeFile(path.join(folder, 'app.mjs'), `import { readFileSync, writeFileSync } from 'node:fs';\n${code}`);
  const app = `'${process.execPath}' app.mjs`;
  await writeFile(path.join(folder, 'cdk.json'), JSON.stringify({ app, context }));
};

const run = (options = {}, signal = new AbortController().signal) =>
  runApp(folder, { outdir: folder, ...options }, signal);

const stackOf = (outputs: string): string => `
  const properties = { templateFile: 'one.json', stackName: 'One', terminationProtection: true };
  const One = { type: 'aws:cloudformation:stack', environment: 'aws://1/eu', properties };
  writeFileSync('one.json', JSON.stringify({ Resources: {}, Outputs: ${outputs} }));
  writeFileSync('manifest.json', JSON.stringify({ artifacts: { One, Tree: { type: 'cdk:tree' } } }));`;

test('runApp hands over the context and the bundles, waits for these, and returns the stacks', async () => {
  await write(
    `const bundles = JSON.parse(readFileSync(Number(process.env.PREBUILT_BUNDLES), 'utf8'));
    ${stackOf('{ bundles, context: JSON.parse(process.env.CDK_CONTEXT_JSON), outdir: process.env.CDK_OUTDIR }')}`,
    { flag: true, stage: 'prod', boundary: 'Limit' },
  );
  const bundles = new Promise((resolve) => setImmediate(resolve, { 'a.lambda.ts': '/a/index.js' }));
  const stacks = await run({ context: { stage: 'dev', boundary: undefined }, bundles });
  const Outputs = { bundles: await bundles, context: { flag: true, stage: 'dev' }, outdir: folder };
  expect([...stacks]).toEqual([
    ['One', { template: { Resources: {}, Outputs }, isProtected: true, environment: 'aws://1/eu' }],
  ]);
});

test('without bundles, an app makes them itself, as `cdk` lets it', async () => {
  await write(stackOf('{ prebuilt: process.env.PREBUILT_BUNDLES ?? "none" }'));
  expect((await run()).get('One')?.template.Outputs).toEqual({ prebuilt: 'none' });
});

test.each([
  ['a syntax error', 'const = 1;', /^app\.mjs:2: Unexpected token '='$/],
  [
    'a wrong setting',
    "class ConfigurationError extends Error {}\nthrow new ConfigurationError('stage must be short');",
    /^stage must be short$/,
  ],
  ['an error', "throw new Error('oops')", /Error: oops\n +at file:.*app\.mjs:2/],
  ['an error in minified code', `/* ${'x'.repeat(2_000)} */ throw new Error('oops')`, /^(?!.*x{1000}).*Error: oops/s],
  ['exit', 'process.exit()', /^The synthesis ended early: does a file in infra\/ call process\.exit\?$/],
])('if an app ends with %s, runApp says why', async (_, code, message) => {
  // The output of an earlier run.
  await writeFile(path.join(folder, 'manifest.json'), '{}');
  await write(code);
  await expect(run()).rejects.toThrow(message);
});

test('if cdk.json is not valid JSON, the error says so in one line', async () => {
  await writeFile(path.join(folder, 'cdk.json'), '{\n  "app": 1,\n}');
  await expect(run()).rejects.toThrow(/^cdk\.json is not valid JSON: .+$/);
});

test('an app ends at once, with the processes that it has started, if the signal is aborted', async () => {
  await write(`const { spawn } = await import('node:child_process');
    const child = spawn('sleep', ['60'], { stdio: 'inherit' });
    writeFileSync('pids', process.pid + ' ' + child.pid);
    await new Promise((resolve) => setTimeout(resolve, 60_000));`);
  const stop = new AbortController();
  const running = run({}, stop.signal);
  const pids = () => readFile(path.join(folder, 'pids'), 'utf8').catch(() => '');
  await until(async () => (await pids()).split(' ').length === 2);
  const [own, child] = (await pids()).split(' ').map(Number);
  stop.abort();
  await expect(running).rejects.toThrow('aborted');
  for (const pid of [own, child]) {
    await until(() => {
      try {
        return !process.kill(pid ?? 0, 0);
      } catch {
        return true;
      }
    });
  }
});
