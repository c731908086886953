/** Tests which modules and files a function finds: as on Lambda, only those in its folder and of the runtime. */
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { folderWith, functionOf, resultOf } from './kit/one-function.ts';

/** Files of a package, whose value is `value`. */
const packageIn = (folder: string, name: string, value: string) => ({
  [`${folder}/node_modules/${name}/package.json`]: '{"exports":"./main.js"}',
  [`${folder}/node_modules/${name}/main.js`]: `module.exports = ${value}`,
});

/** A folder with an app, whose package.json declares ES modules, and with the app's packages. */
const app = {
  'package.json': '{"type":"module"}',
  ...packageIn('.', 'lodash', '"of the app"'),
  ...packageIn('.', '@aws-sdk/lib-dynamodb', '"of the runtime"'),
  ...packageIn('cdk.out/task', 'bundled', '"bundled"'),
  ...packageIn('cdk.out/task', 'nested', 'require("bundled")'),
  'cdk.out/task/common.js': 'exports.name = "CommonJS"',
};

/** Invokes a function with these files, besides the app's. @returns its result, or why it failed */
const resultIn = async (files: Record<string, string>, event?: unknown) => {
  const own = Object.entries(files).map(([name, content]) => [`cdk.out/task/${name}`, content]);
  const folder = path.join(await folderWith({ ...app, ...Object.fromEntries(own) }), 'cdk.out');
  const fn = await functionOf({}, { folder: path.join(folder, 'task') });
  const outcome = await fn.invoke(event);
  return 'failure' in outcome ? outcome.failure : resultOf(outcome);
};

/** Code of a handler whose event is a list of texts. It returns, for each \`text\`, the value of an expression. */
const evaluating = (expression: string): string => `async (texts) => {
  const values = {};
  const settle = (promise) => promise.catch((error) => [error.code, error].filter(Boolean).join(' '));
  for (const text of texts) values[text] = await ${expression};
  return values;
}`;

test('a function that requires or imports a module gets what it gets on Lambda', async () => {
  const expected = {
    bundled: 'bundled',
    nested: 'bundled',
    lodash: expect.stringMatching(/MODULE_NOT_FOUND .*Cannot find (module|package) 'lodash'.*Lambda has it only if/s),
    '@aws-sdk/lib-dynamodb': 'of the runtime',
    '@aws-sdk/gone': expect.stringMatching(/MODULE_NOT_FOUND .*install it in the app/s),
  };
  for (const load of ['(async () => require(text))()', 'import(text).then((module) => module.default)']) {
    const code = `exports.handler = ${evaluating(`settle(${load})`)}`;
    expect.soft(await resultIn({ 'index.cjs': code }, Object.keys(expected)), load).toEqual(expected);
  }
});

test('a missing package is named, even if no package.json is above the function', async () => {
  const fn = await functionOf("require('gone')");
  expect(await fn.invoke()).toMatchObject({ failure: expect.stringContaining("Cannot find module 'gone'") });
});

const esModule = 'export const value = await (async () => 1)()';
const files = {
  'common.js': 'exports.value = 1',
  'common-with-the-word-import.js': '/* import */ exports.value = 1',
  'common-in-strict-mode.js': '"use strict";export_ = import("node:os");exports.value=1;var export_',
  'es-module.js': esModule,
  'minified-es-module.js': 'const a=1;export{a as value}',
  'typed/package.json': '{"type":"module"}',
  'typed/es-module.js': esModule,
  'common-named.js': 'exports.value = 1',
  'imports-a-name.mjs': "export { value } from './common-named.js'",
  'index.mjs': `export const handler = ${evaluating('settle(import(text).then(({ value }) => value))')}`,
};

test('a .js file is the kind of module that it is on Lambda', async () => {
  const expected = {
    './common.js': 1,
    './common-with-the-word-import.js': 1,
    './common-in-strict-mode.js': 1,
    './es-module.js': 1,
    './minified-es-module.js': 1,
    './typed/es-module.js': 1,
    './imports-a-name.mjs': 1,
  };
  expect(await resultIn(files, Object.keys(expected))).toEqual(expected);
});

describe('the folder of a function', () => {
  /** Evaluates the expressions in a function. @returns the value of each, or the code of its error */
  const run = (...expressions: string[]) => {
    const code = `import fs, { existsSync, readFileSync } from 'node:fs'; import path from 'node:path';
      import { text as readText } from 'node:stream/consumers'; import { promisify } from 'node:util';
      const { url, dirname } = import.meta;
      export const handler = ${evaluating("eval('(async () => ' + text + ')()').catch(({ code }) => code)")}`;
    return resultIn({ 'data.txt': 'data', 'index.mjs': code }, expressions);
  };

  /** The same value for each expression. */
  const sameFor = (expressions: string[], value: string) =>
    Object.fromEntries(expressions.map((each) => [each, value]));

  test('is the working directory', async () => {
    const expressions = [
      "readFileSync('data.txt', 'utf8')",
      "fs.promises.readFile('./data.txt', 'utf8')",
      "promisify(fs.readFile)('data.txt', 'utf8')",
      "readText(fs.createReadStream('data.txt'))",
      "readFileSync(path.resolve('data.txt'), 'utf8')",
      "readFileSync(path.join(process.cwd(), 'data.txt'), 'utf8')",
      "readFileSync(Buffer.from('data.txt'), 'utf8')",
      "existsSync('data.txt') && fs.statSync('.').isDirectory() && 'data'",
    ];
    expect(await run(...expressions)).toEqual(sameFor(expressions, 'data'));
  });

  test('is read-only', async () => {
    const expressions = [
      "fs.writeFileSync('new.txt', '')",
      "fs.promises.appendFile(process.env.LAMBDA_TASK_ROOT + '/data.txt', '')",
      "promisify(fs.mkdir)('new')",
      "new Promise((_, reject) => fs.createWriteStream('new.txt').on('error', reject))",
      "fs.openSync('data.txt', fs.constants.O_RDWR)",
      "fs.promises.open('data.txt', 'a')",
      "fs.copyFileSync('data.txt', 'new.txt')",
      "fs.renameSync('data.txt', '/tmp/data.txt')",
      "fs.symlinkSync('/tmp', 'new')",
      "fs.writeFileSync(new URL('new.txt', url), '')",
      "fs.promises.writeFile(new URL('new.txt', url), '')",
      "fs.writeFileSync(Buffer.from(dirname + '/new.txt'), '')",
      "fs.writeFileSync('/tmp/..' + dirname + '/new.txt', '')",
    ];
    expect(await run(...expressions)).toEqual(sameFor(expressions, 'EROFS'));
  });

  test('may be given as a relative path', async () => {
    const folder = await folderWith({ 'index.js': 'exports.handler = async () => process.cwd()' });
    const fn = await functionOf({}, { folder: path.relative(process.cwd(), folder) });
    expect(resultOf(await fn.invoke())).toBe(folder);
  });

  test('does not limit what a function writes elsewhere, such as in /tmp', async () => {
    const folder = await folderWith({});
    const copying = `fs.copyFileSync('data.txt', ${JSON.stringify(path.join(folder, 'copy.txt'))})`;
    expect(await run(copying)).toEqual({});
    expect(await readdir(folder)).toEqual(['copy.txt']);
  });
});
