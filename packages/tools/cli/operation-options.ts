/** The name of an operation's command, and its options: one for each parameter, and one for each field of the body. */
import { type Operation, parseJson } from '@lambda-service/client';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { matching } from '../terminal.ts';

/**
 * Names the command of the operation in `file`, such as create-order, by its first word, or by all words if an earlier
 * one of `files` or another command has that one. A new operation at the end renames no command.
 * @param taken the names of the other commands
 */
export const commandName = (file: string, files: string[], taken: string[]): string => {
  const [word = file] = file.split('-');
  const first = files.includes(word) ? word : files.find((each) => each.startsWith(`${word}-`));
  if (first === file && !taken.includes(word)) return word;
  return taken.includes(file) ? `call-${file}` : file;
};

/** What the help says about each parameter and field, by its name. */
export type Descriptions = ReadonlyMap<string, string>;

/**
 * Adds an operation's options to its command. A parameter and a field of the same name share an option. If the contract
 * does not list the body's fields, the option `--body` has the whole body.
 * @returns a function that returns the arguments of the client's call, once the command line is parsed
 */
export const addOptions = (
  command: Command,
  { parameters, body, requires = [] }: Operation,
  descriptions: Descriptions = new Map(),
): (() => unknown[]) => {
  const isOpen = body !== undefined && Object.keys(body).length === 0;
  const types = Object.entries(isOpen ? { body: 'any' } : (body ?? {}));
  const fields = types.map(([name, type]) => ({ name, type, required: isOpen || requires.includes(name) }));
  const values: Record<string, unknown> = {};
  const mandatory = new Map<string, string>();
  const byName = new Map([...parameters, ...fields].map((each) => [each.name, each]));
  for (const [name, { type, required = false }] of byName) {
    const parse = parsers[type] ?? json;
    let flag = optionName(name);
    while (command.options.some(({ long }) => long === `--${flag}`)) flag += '-2';
    const hint = parse === json ? type : parse === textOrNull && nullHint;
    const kind = [flag !== name && `for ${name}`, hint, required && 'required'].filter(Boolean).join(', ');
    const description = [kind, descriptions.get(name)].filter(Boolean).join('. ');
    const option = new Option(`--${flag} <${parse === json ? 'json' : type}>`, description);
    option.argParser((text: string) => Reflect.set(values, name, parse(text)));
    command.addOption(option);
    if (required) mandatory.set(name, option.flags);
  }
  return () => {
    // Not mandatory options of Commander: if a user typed --nmae, it would only say that --name is missing.
    const missing = [...mandatory].find(([name]) => !Object.hasOwn(values, name));
    if (missing !== undefined) command.error(`error: required option '${missing[1]}' not specified`);
    // The client takes from the values only what the contract lists.
    return [...(parameters.length > 0 ? [values] : []), ...(body ? [isOpen ? values['body'] : values] : [])];
  };
};

/** Every command has the options --stack, --url, --token and --help, and some characters have a meaning for Commander. */
export const optionName = (name: string): string =>
  name.replace(/^(?=(?:stack|url|token|help)$)/, 'field-').replaceAll(/[\s,|=<>[\]]/g, '-');

const integer = matching(/^-?\d+$/, 'It must be an integer.', BigInt);

const json = (text: string): unknown => {
  const value = parseJson(text);
  if (value === undefined)
    throw new InvalidArgumentError('It must be JSON, such as 1.5, true, "text", ["a"] or {"a":1}.');
  return value;
};

const jsonNumber = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:e[+-]?\d+)?$/i;
const number = (text: string): unknown => {
  // JSON has no Infinity: 1e400 would be sent as null.
  if (!jsonNumber.test(text) || !Number.isFinite(Number(text)))
    throw new InvalidArgumentError('It must be a number, such as 12, -1.5 or 1e3.');
  return parseJson(text);
};
const boolean = matching(/^(?:true|false)$/, 'It must be true or false.', json);

const nullHint = 'null is null; text in double quotes, such as "null", is read as JSON';

/** Takes any text as it is, except `null` and JSON strings: the text "null" is written with its quotes. */
const textOrNull = (given: string): unknown => {
  const value = parseJson(given);
  return value === null || typeof value === 'string' ? value : given;
};

const parsers: Record<string, typeof json> = {
  ...{ string: String, integer, int64: integer, number, boolean },
  ...{ 'string or null': textOrNull, 'null or string': textOrNull },
};
