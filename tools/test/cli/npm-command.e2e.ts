import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { run, temporaryFolder } from '../../../test/kit/local-service.ts';

const npmCommand = pathToFileURL(path.resolve(import.meta.dirname, '../../cli/npm-command.ts')).href;

/** A command with options that npm does not know, except --tag. It prints the options that it got. */
const program = `
import { NpmCommand } from '${npmCommand}';
const program = new NpmCommand('npm run -s shop --').option('--place <name>');
const print = (given) => console.log(JSON.stringify({ ...program.opts(), ...given }));
program.command('sell').alias('give').requiredOption('--shoe <size>').option('--hat <colour>').action(print);
program.command('name').requiredOption('--tag <text>').action(print);
program.command('label').requiredOption('--shoe <size>').option('--tag <text>').action(print);
program.command('find').argument('<place>').option('--shoe <size>').action((place, given) => print({ place, ...given }));
await program.parseAsync();
`;

let shop: Awaited<ReturnType<typeof temporaryFolder>>;

beforeAll(async () => {
  shop = await temporaryFolder();
  const packageJson = { type: 'module', scripts: { shop: `'${process.execPath}' shop.js` } };
  await writeFile(path.join(shop.folder, 'package.json'), JSON.stringify(packageJson));
  await writeFile(path.join(shop.folder, 'shop.js'), program);
});
afterAll(() => shop.remove());

const npmRun = (args: string[]) => run('npm', ['--prefix', shop.folder, 'run', '-s', 'shop', ...args]).ended;

test.each([
  [['give', '--shoe', '9'], { shoe: '9' }],
  [['sell', '--shoe=9', '--hat=a b=c', '--place=-x'], { shoe: '9', hat: 'a b=c', place: '-x' }],
  [['find', '-', '--shoe=9'], { place: '-', shoe: '9' }],
  [['name', '--tag', 'new'], { tag: 'new' }],
])('a command takes the options that npm has taken, if only one thing can be meant: %j', async (args, options) => {
  const { stdout, stderr } = await npmRun(args);
  expect([stderr, JSON.parse(stdout)]).toEqual(['', options]);
});

test.each([
  ['which value is whose', ['sell', '--shoe', '9', '--hat', 'red'], 'sell --shoe ... --hat ...'],
  ['which argument is a value', ['find', 'here', '--shoe', '9'], 'find --shoe ...'],
  ['if the value is the text "true"', ['sell', '--shoe=true'], 'sell --shoe ...'],
  ['if --no-hat is meant', ['sell', '--shoe=9', '--no-hat'], 'sell --shoe 9 --hat ...'],
  ['which of two is meant', ['sell', '--shoe=8', '--shoe=9'], 'sell --shoe ...'],
  ['if another is misspelt', ['sell', '--shoe=9', '--hta=red'], 'sell --shoe 9 [--hta ...]'],
  ['what belongs to those behind --', ['sell', '--shoe=9', '--', '--hat=red'], 'sell --shoe 9'],
])('a command refuses the options that npm has taken, if it cannot know %s', async (_, args, example) => {
  const { code, stdout, stderr } = await npmRun(args);
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toMatch(/^error: npm takes --shoe/);
  expect(stderr).toContain(`Write -- before the options, as in: npm run -s shop -- ${example}\n`);
});

test('a command says which option npm may hide, because npm has it, too', async () => {
  const warning = 'npm may hide --tag: to give that option, write -- before the options.\n';
  expect(await npmRun(['label', '--shoe', '9'])).toEqual({ code: 0, stdout: '{"shoe":"9"}\n', stderr: warning });
  expect(await npmRun(['label', '--shoe=9', '--tag=a'])).toEqual({
    code: 0,
    stdout: '{"shoe":"9","tag":"a"}\n',
    stderr: '',
  });
});
