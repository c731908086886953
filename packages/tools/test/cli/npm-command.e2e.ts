/** Tests that npm sets the variables with which npm-command.test.ts tests commands. */
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileFolder, run } from '@lambda-service/testing/programs';
import { expect, test } from 'vitest';

const home = await fileFolder();
const shop = `'${process.execPath}' '${path.join(import.meta.dirname, 'kit/shop.ts')}'`;
await writeFile(path.join(home, 'package.json'), JSON.stringify({ scripts: { shop } }));

const npmRun = (...args: string[]) => run('npm', ['--prefix', home, 'run', '-s', 'shop', ...args]).ended;

test('npm passes on the options that it takes, a value that a space separates as an argument', async () => {
  const stderr = 'npm may hide --tag: to give that option, write -- before the options.\n';
  expect(await npmRun('label', '--shoe', '9')).toEqual({ code: 0, stdout: '{"shoe":"9"}\n', stderr });
  const stdout = '{"place":"a b","shoe":"9","tag":"new"}\n';
  expect(await npmRun('label', '--shoe=9', '--place=a b', '--tag', 'new')).toEqual({ code: 0, stdout, stderr: '' });
});

test('npm does not pass on whether an option was misspelt, repeated or has the value false', async () => {
  const { code, stdout, stderr } = await npmRun('sell', '--shoe=8', '--shoe=9', '--hta=red', '--no-hat');
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toContain('as in: npm run -s shop -- sell --shoe ... --hat ... [--hta ...]\n');
});
