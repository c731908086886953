/** Tests the options of commands with invented operations, because a contract may have any. */

import { createClient, type Operation, toJson } from '@lambda-service/client';
import { Command } from 'commander';
import { expect, test } from 'vitest';
import { addOptions, commandName } from '../../cli/operation-options.ts';

const baseUrl = 'http://service.example';
const base = { method: 'PUT', path: '/things/{id}', responses: [], errorCodes: [] };
const id = { name: 'id', in: 'path', type: 'int64', required: true } as const;
const body = {
  id: 'int64',
  name: 'string',
  size: 'integer',
  weight: 'number',
  isToxic: 'boolean',
  items: 'object[]',
  note: 'string or null',
  'best-before': 'string',
  bestBefore: 'string',
  'no-frost': 'boolean',
  'two words': 'string',
  body: 'string',
  url: 'string',
  'field-url': 'string',
  stack: 'string',
  urls: 'string',
  'two-words': 'string',
  __type: 'any',
};
const putThing = { ...base, parameters: [id], body, requires: ['id', 'name'] };

/** Parses a command line. @returns the request that the client sends then, or what Commander prints */
const parse = async (operation: Operation, ...args: string[]) => {
  let printed = '';
  const command = new Command('do').exitOverride().configureOutput({ writeErr: (text) => (printed += text) });
  const given = addOptions(command, operation);
  let values: unknown[];
  try {
    command.parse(args, { from: 'user' });
    values = given();
  } catch {
    return printed;
  }
  let sent: object | undefined;
  const fetch = async (request: Request) => {
    sent = { url: request.url.replace(baseUrl, ''), body: await request.text() };
    return new Response('', { status: 404 });
  };
  const { send } = createClient({ send: operation }, { baseUrl, token: 'a.b.c', fetch });
  await send(...(values as [unknown]));
  return sent;
};

test.each<[args: string[], sent: object]>([
  [['--size', '9007199254740993'], { size: 9007199254740993n }],
  [['--weight', '-1.5e3'], { weight: -1500 }],
  [['--isToxic', 'false'], { isToxic: false }],
  [['--items', '[{"id":-9223372036854775808,"price":1.5}]'], { items: [{ id: -9223372036854775808n, price: 1.5 }] }],
  [['--note', 'null'], { note: null }],
  [['--note', '"null"'], { note: 'null' }],
  [['--note', 'hello'], { note: 'hello' }],
  [['--note', '12'], { note: '12' }],
  [['--note', '"half'], { note: '"half' }],
  [['--best-before', '2027', '--bestBefore', ''], { 'best-before': '2027', bestBefore: '' }],
  [['--no-frost', 'true'], { 'no-frost': true }],
  [['--two-words', '--x y'], { 'two words': '--x y' }],
  [['--two-words', 'a', '--two-words-2', 'b'], { 'two words': 'a', 'two-words': 'b' }],
  [['--body', '{}'], { body: '{}' }],
  [['--field-url', 'https://thing.example'], { url: 'https://thing.example' }],
  [['--field-url-2', 'x'], { 'field-url': 'x' }],
  [['--field-stack', 'x', '--urls', 'y'], { stack: 'x', urls: 'y' }],
  [['--__type', '{"a":[]}'], { __type: { a: [] } }],
])('the options %j become the fields %o of the body', async (args, sent) => {
  const body = toJson({ id: -7n, name: 'null', ...sent });
  expect(await parse(putThing, '--id', '-7', '--name', 'null', ...args)).toEqual({ url: '/things/-7', body });
});

test.each<[args: string[], message: string]>([
  [[], "required option '--id <int64>' not specified"],
  [['--id', '7'], "required option '--name <string>' not specified"],
  [['--id', '1.5'], "option '--id <int64>' argument '1.5' is invalid. It must be an integer."],
  [['--weight', '1e400'], "option '--weight <number>' argument '1e400' is invalid. It must be a number"],
  [
    ['--weight', 'heavy'],
    "option '--weight <number>' argument 'heavy' is invalid. It must be a number, such as 12, -1.5 or 1e3.",
  ],
  [['--weight', '[1]'], "option '--weight <number>' argument '[1]' is invalid. It must be a number"],
  [['--isToxic', '1'], "option '--isToxic <boolean>' argument '1' is invalid. It must be true or false."],
  [['--items', '[1'], "option '--items <json>' argument '[1' is invalid. It must be JSON, such as"],
])('the options %j are refused: %s', async (args, message) => {
  expect(await parse(putThing, ...args)).toContain(`error: ${message}`);
});

test('the option --body has a whole body whose fields the contract does not list', async () => {
  const open = { ...base, path: '/things', parameters: [], body: {} };
  expect(await parse(open, '--body', '[{"id":9007199254740993}]')).toEqual({
    url: '/things',
    body: '[{"id":9007199254740993}]',
  });
  expect(await parse(open)).toContain("required option '--body <json>' not specified");
});

test('an operation without a body has no argument but its parameters, and optional parameters may be left out', async () => {
  const list = { ...base, path: '/things', parameters: [{ name: 'tag', in: 'query', type: 'string[]' } as const] };
  expect(await parse(list, '--tag', '["a","b"]')).toEqual({ url: '/things?tag=a&tag=b', body: '' });
  expect(addOptions(new Command(), list)()).toEqual([{}]);
  expect(addOptions(new Command(), { ...list, parameters: [] })()).toEqual([]);
});

test('the help of a command says which options are required, their types, how to write null, which field another name is for, and what the contract says', () => {
  const command = new Command().configureHelp({ helpWidth: 200 });
  addOptions(
    command,
    putThing,
    new Map([
      ['id', 'Identifies the thing'],
      ['size', 'One of: 1, 2'],
    ]),
  );
  const help = command.helpInformation();
  for (const line of [
    /--id <int64> +required. Identifies the thing$/m,
    /--size <integer> +One of: 1, 2$/m,
    /--items <json> +object\[\]$/m,
    /--note <string or null> +null is null; text in double quotes, such as "null", is read as JSON$/m,
    /--field-url <string> +for url$/m,
    /--field-url-2 <string> +for field-url$/m,
  ])
    expect(help).toMatch(line);
});

test.each([
  ['create-thing delete-thing', 'create delete'],
  ['create-thing create-thing-part get-thing', 'create create-thing-part get'],
  ['create-thing create', 'create-thing create'],
  ['start-thing import-things', 'start-thing import-things'],
  ['start', 'call-start'],
])('the operations in the files %s have the commands %s, none of which is another command', (files, commands) => {
  const names = files.split(' ');
  expect(names.map((name) => commandName(name, names, ['start', 'import'])).join(' ')).toBe(commands);
});
