/** Tests commands with the variables that npm sets. npm-command.e2e.ts tests that npm sets them. */
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Writable } from 'node:stream';
import { fileFolder } from '@lambda-service/testing/programs';
import { expect, test } from 'vitest';
import { plant } from '../../cli/plant.ts';
import { request } from '../../cli/request.ts';
import { restore } from '../../cli/restore.ts';
import { stackTrace } from '../../cli/stack-trace.ts';
import { token } from '../../cli/token.ts';
import { diff } from '../../release/diff.ts';
import { verify } from '../../release/verify.ts';
import type { Command } from '../../terminal.ts';
import { type Before, runHere } from './kit/run-here.ts';
import { shop } from './kit/shop.ts';

/** Plays `npm config list`: prints npm's default tag, what a file ~/.npmrc has, and the given options. */
const npm = `#!/bin/sh
shift 4
printf '{"tag":"latest","scope":"@acme","stack":false'
for option; do name=\${option%%=*}; printf ',"%s":"%s"' "\${name#--}" "\${option#*=}"; done
printf '}'
`;

const home = await fileFolder();
await writeFile(path.join(home, 'npm'), npm, { mode: 0o755 });

type Variables = Record<string, string>;

/** Runs a command with what npm has left of the command line, and with the options that npm has taken. */
const run = (command: Command, args: string[], taken: Variables, before?: Before) => {
  const variables = Object.entries(taken).map(([name, value]) => [`npm_config_${name}`, value]);
  const environment = { npm_execpath: path.join(home, 'npm'), DATA_DIR: home };
  return runHere(command, args, { ...environment, ...Object.fromEntries(variables) }, before).ended;
};

test.each<[args: string[], taken: Variables, options: object]>([
  [['give', '9'], { shoe: 'true' }, { shoe: '9' }],
  [['sell'], { shoe: '9', hat: 'a b=c', place: '-x' }, { shoe: '9', hat: 'a b=c', place: '-x' }],
  [['find', '-'], { shoe: '9' }, { place: '-', shoe: '9' }],
  [['name'], { tag: 'new' }, { tag: 'new' }],
  [['label'], { shoe: '9', tag: 'a' }, { shoe: '9', tag: 'a' }],
  [['label', '--shoe=9'], {}, { shoe: '9' }],
])('a command takes what npm has taken, if only one thing can be meant: %j %j', async (args, taken, options) => {
  const { stdout, stderr } = await run(shop, args, taken);
  expect([stderr, JSON.parse(stdout)]).toEqual(['', options]);
});

test.each<[what: string, args: string[], taken: Variables, example: string]>([
  ['which value is whose', ['sell', '9', 'red'], { shoe: 'true', hat: 'true' }, 'sell --shoe ... --hat ...'],
  ['which argument is a value', ['find', 'here', '9'], { shoe: 'true' }, 'find --shoe ...'],
  ['if the value is the text "true"', ['sell'], { shoe: 'true' }, 'sell --shoe ...'],
  ['if the value is empty', ['sell'], { shoe: '' }, 'sell --shoe ...'],
  ['if --no-hat is meant', ['sell'], { shoe: '9', hat: '' }, 'sell --shoe 9 --hat ...'],
  ['which of two is meant', ['sell'], { shoe: '8\n\n9' }, 'sell --shoe ...'],
  ['if another is misspelt', ['sell'], { shoe: '9', hta: 'red' }, 'sell --shoe 9 [--hta ...]'],
  ['what belongs to those behind --', ['sell', '--hat=red'], { shoe: '9' }, 'sell --shoe 9'],
])('a command refuses the options that npm has taken, if it cannot know %s', async (_, args, taken, example) => {
  const { code, stdout, stderr } = await run(shop, args, taken);
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toMatch(/^error: npm takes --shoe/);
  expect(stderr).toContain(`Write -- before the options, as in: npm run -s shop -- ${example}\n`);
});

test('a command says which option npm may hide, because npm has it, too', async () => {
  const stderr = 'npm may hide --tag: to give that option, write -- before the options.\n';
  expect(await run(shop, ['label', '9'], { shoe: 'true' })).toEqual({ code: 0, stdout: '{"shoe":"9"}\n', stderr });
});

test('a command that cannot print a hint does its work all the same', async () => {
  const close = (child: { stderr: Writable }) => {
    child.stderr._write = (_chunk, _encoding, done) => done(new Error('EPIPE'));
  };
  const result = await run(shop, ['label', '9'], { shoe: 'true' }, close);
  expect(result).toMatchObject({ code: 0, stdout: '{"shoe":"9"}\n' });
});

test("an option in npm's settings is not mistaken for one that npm has taken from the command line", async () => {
  const { stderr } = await run(token, [], { scope: '@acme', stack: '' });
  expect(stderr).toContain('No local service is running');
});

test.each<[what: string, option: string, command: Command, ...args: string[]]>([
  ['plant import', 'from', plant, 'import'],
  ['token', 'stack', token],
  ['request', 'stack', request],
  ['restore', 'from', restore],
  ['stack-trace', 'bundle', stackTrace],
  ['verify', 'stack', verify],
  ['diff', 'allow', diff()],
])('npm run %s refuses to run if npm has taken its option --%s', async (_, option, command, ...args) => {
  const stderr = expect.stringContaining(`npm takes --${option}`);
  expect(await run(command, args, { [option]: 'true' })).toEqual({ code: 1, stdout: '', stderr });
});
