import { run } from '@lambda-service/testing/programs';
import { expect, test } from 'vitest';

/**
 * Options of Node.js that turn on its permission model, so that a program that writes a file or starts a process gets an
 * error, and those with which bin.js would start it again.
 */
const readOnly = ['--permission', '--allow-fs-read=*', '--allow-addons', '--disable-warning=PERM0001'];
const ofStart = ['--inspect-publish-uid=stderr', '--max-semi-space-size=16'];
const runReadOnly = (...args: string[]) =>
  run(process.execPath, [...readOnly, ...ofStart, 'packages/tools/bin.js', ...args]).ended;

const help = await runReadOnly('--help');
const commands = [...help.stdout.matchAll(/^ {2}([a-z][\w-]*) {2,}/gm)].map(([, name = '']) => name);

test('the help fits one screen, and groups the commands by when one needs them', () => {
  expect([...help.stdout.matchAll(/^(\w.*):$/gm)].map(([, group]) => group)).toEqual([
    'Options',
    'Every day',
    'On call',
    'Before a release',
  ]);
  const lines = help.stdout.split('\n');
  expect(lines.every((line) => line.length <= 80)).toBe(true);
  const ofOperations = lines.filter((line) => line.includes(' calls '));
  expect(lines.length - ofOperations.length).toBeLessThanOrEqual(24);
  expect(commands).toContain('start');
});

test.each(commands)('%s --help prints how to use it, and does nothing else', async (name) => {
  const { code, stdout, stderr } = await runReadOnly(name, '--help');
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toMatch(new RegExp(`^Usage: npx @lambda-service/tools ${name} `));
});
