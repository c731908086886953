/** Tests which modules and files a function finds: as on Lambda, only those in its folder, its layers and the runtime. */
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import type { FunctionSpec } from '../served-stack.ts';
import { folderWith, functionOf, resultOf } from './kit/one-function.ts';

/** Files of a package, whose value is `value`. */
const packageIn = (folder: string, name: string, value: string) => ({
  [`${folder}/node_modules/${name}/package.json`]: '{"exports":"./main.js"}',
  [`${folder}/node_modules/${name}/main.js`]: `module.exports = ${value}`,
});

/** A folder with an app, whose package.json declares ES modules, and with the app's packages and two layers. */
const app = {
  'package.json': '{"type":"module"}',
  ...packageIn('.', 'lodash', '"of the app"'),
  ...packageIn('.', '@aws-sdk/lib-dynamodb', '"of the runtime"'),
  ...packageIn('cdk.out/one/nodejs', 'both', '"of the first layer"'),
  ...packageIn('cdk.out/one/nodejs/node24', 'versioned', '"for nodejs24.x"'),
  ...packageIn('cdk.out/two/nodejs', 'both', '"of the last layer"'),
  ...packageIn('cdk.out/two/nodejs', 'versioned', '"for any version"'),
  ...packageIn('cdk.out/two/nodejs', 'asks', 'require("bundled")'),
  'cdk.out/two/nodejs/shared.js': 'module.exports = "a file of a layer"',
  ...packageIn('cdk.out/task', 'bundled', '"bundled"'),
  ...packageIn('cdk.out/task', 'nested', 'require("bundled")'),
  'cdk.out/task/common.js': 'exports.name = "CommonJS"',
};

/** Invokes a function with these files, besides the app's. @returns its result, or why it failed */
const resultIn = async (files: Record<string, string>, spec: Partial<FunctionSpec> = {}): Promise<unknown> => {
  const own = Object.entries(files).map(([name, content]) => [`cdk.out/task/${name}`, content]);
  const folder = path.join(await folderWith({ ...app, ...Object.fromEntries(own) }), 'cdk.out');
  const layers = [path.join(folder, 'one'), path.join(folder, 'two')];
  const fn = await functionOf({}, { folder: path.join(folder, 'task'), layers, ...spec });
  const outcome = await fn.invoke();
  return 'failure' in outcome ? outcome.failure : resultOf(outcome);
};

test.each([
  ['bundled', 'bundled'],
  ['nested', 'bundled'],
  ['lodash', /MODULE_NOT_FOUND: Cannot find (module|package) 'lodash'.*Lambda has it only if/s],
  ['both', 'of the last layer'],
  ['versioned', 'for nodejs24.x'],
  ['asks', /MODULE_NOT_FOUND: .*'bundled'/],
  ['/opt/nodejs/shared.js', 'a file of a layer'],
  ['@aws-sdk/lib-dynamodb', 'of the runtime'],
  ['@aws-sdk/gone', /MODULE_NOT_FOUND: .*install it in the app/s],
])('a function that requires or imports %s gets what it gets on Lambda', async (specifier, expected) => {
  for (const load of [`require('${specifier}')`, `(await import('${specifier}')).default`]) {
    const code = `exports.handler = async () => { try { return ${load} } catch (e) { return e.code + ': ' + e.message } }`;
    const value = expect.soft(await resultIn({ 'index.cjs': code }), load);
    if (typeof expected === 'string') value.toBe(expected);
    else value.toMatch(expected);
  }
});

test.each([
  ['"exports":{"./value":"./value.js"}', [1, 1]],
  // Without exports, Node.js finds a package by its own name in no folder but node_modules.
  ['"main":"./value.js"', /Lambda has it only if/],
])('a function whose package.json has %s finds it by its name, or fails as on Lambda', async (field, expected) => {
  const code = `exports.handler = async () => [require('lodash/value'), (await import('lodash/value')).default]`;
  const files = { 'package.json': `{"name":"lodash",${field}}`, 'value.js': 'module.exports = 1', 'index.js': code };
  const value = expect(await resultIn(files));
  if (Array.isArray(expected)) value.toEqual(expected);
  else value.toMatch(expected);
});

test('a missing package is named, even if no package.json is above the function', async () => {
  const fn = await functionOf("require('gone')");
  expect(await fn.invoke()).toMatchObject({ failure: expect.stringContaining("Cannot find module 'gone'") });
});

const [esModule, commonJs] = [
  'export const handler = await (async () => async () => 1)()',
  'exports.handler = async () => 1',
];
const syntaxError = expect.stringMatching(/^Runtime.UserCodeSyntaxError: SyntaxError: Unexpected token 'export'/);
const detecting = { NODE_OPTIONS: '--experimental-detect-module' };
test.each<
  [runtime: string, what: string, files: Record<string, string>, result: unknown, environment?: typeof detecting]
>([
  ['nodejs24.x', 'CommonJS', { 'index.js': commonJs }, 1],
  ['nodejs24.x', 'CommonJS with the word import', { 'index.js': `/* import */${commonJs}` }, 1],
  ['nodejs24.x', 'an ES module', { 'index.js': esModule }, 1],
  ['nodejs22.x', 'CommonJS', { 'index.js': commonJs }, 1],
  ['nodejs22.x', 'an ES module', { 'index.js': esModule }, syntaxError],
  ['nodejs22.x', 'an ES module, with detection enabled', { 'index.js': esModule }, 1, detecting],
  ['nodejs22.x', 'an ES module by its type', { 'package.json': '{"type":"module"}', 'index.js': esModule }, 1],
  [
    'nodejs24.x',
    'CommonJS, by an import with a name',
    { 'index.mjs': `import { name } from './common.js'; export const handler = () => name` },
    'CommonJS',
  ],
])('under %s, a .js file is loaded if it is %s, whatever package.json is above it', async (...row) => {
  const [runtime, , files, result, environment = {}] = row;
  expect(await resultIn(files, { runtime, environment })).toEqual(result);
});

test('under nodejs22.x, an ES module in a .js file cannot be loaded, even if no package.json is above it', async () => {
  const fn = await functionOf(esModule, { runtime: 'nodejs22.x' });
  expect(await fn.invoke()).toMatchObject({ failure: syntaxError });
});

describe('the folder of a function', () => {
  const run = (body: string) =>
    resultIn({
      'data.txt': 'data',
      'index.mjs': `import fs, { existsSync, readFileSync } from 'node:fs'; import path from 'node:path';
        import { text } from 'node:stream/consumers'; import { promisify } from 'node:util';
        export const handler = async () => { try { ${body} } catch (error) { return error.code } }`,
    });

  test.each([
    "readFileSync('data.txt', 'utf8')",
    "await fs.promises.readFile('./data.txt', 'utf8')",
    "await promisify(fs.readFile)('data.txt', 'utf8')",
    "await text(fs.createReadStream('data.txt'))",
    "readFileSync(path.resolve('data.txt'), 'utf8')",
    "readFileSync(path.join(process.cwd(), 'data.txt'), 'utf8')",
    "readFileSync(Buffer.from('data.txt'), 'utf8')",
    "existsSync('data.txt') && fs.statSync('.').isDirectory() && 'data'",
  ])('is the working directory of %s', async (expression) => {
    expect(await run(`return ${expression}`)).toBe('data');
  });

  test.each([
    "fs.writeFileSync('new.txt', '')",
    "await fs.promises.appendFile(process.env.LAMBDA_TASK_ROOT + '/data.txt', '')",
    "await promisify(fs.mkdir)('new')",
    "await new Promise((_, reject) => fs.createWriteStream('new.txt').on('error', reject))",
    "fs.openSync('data.txt', fs.constants.O_RDWR)",
    "await fs.promises.open('data.txt', 'a')",
    "fs.copyFileSync('data.txt', 'new.txt')",
    "fs.renameSync('data.txt', '/tmp/data.txt')",
    "fs.symlinkSync('/tmp', 'new')",
    "fs.writeFileSync(new URL('new.txt', import.meta.url), '')",
    "await fs.promises.writeFile(new URL('new.txt', import.meta.url), '')",
    "fs.writeFileSync(Buffer.from(import.meta.dirname + '/new.txt'), '')",
    "fs.writeFileSync('/tmp/..' + import.meta.dirname + '/new.txt', '')",
  ])('is read-only for %s', async (statement) => {
    expect(await run(`${statement}; return 'written'`)).toBe('EROFS');
  });

  test('may be given as a relative path', async () => {
    const folder = await folderWith({ 'index.js': 'exports.handler = async () => process.cwd()' });
    const fn = await functionOf({}, { folder: path.relative(process.cwd(), folder) });
    expect(resultOf(await fn.invoke())).toBe(folder);
  });

  test('does not limit what a function writes elsewhere, such as in /tmp', async () => {
    const folder = await folderWith({});
    const file = JSON.stringify(path.join(folder, 'copy.txt'));
    expect(await run(`fs.copyFileSync('data.txt', ${file}); return readFileSync(${file}, 'utf8')`)).toBe('data');
    expect(await readdir(folder)).toEqual(['copy.txt']);
  });
});
