/** The command-line options of an operation: one for each parameter, and one for each field of the body. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import { parseJson } from '../../packages/client/json.ts';
import type { Operation } from '../../packages/client/request.ts';
import { matching } from '../start/terminal.ts';

/**
 * Adds an operation's options to its command. A parameter and a field of the same name share an option. If the contract
 * does not list the body's fields, the option `--body` has the whole body.
 * @returns a function that returns the arguments of the client's call, once the command line is parsed
 */
export const addOptions = (command: Command, { parameters, body, requires = [] }: Operation): (() => unknown[]) => {
  const isOpen = body !== undefined && Object.keys(body).length === 0;
  const types = Object.entries(isOpen ? { body: 'any' } : (body ?? {}));
  const fields = types.map(([name, type]) => ({ name, type, required: isOpen || requires.includes(name) }));
  const values: Record<string, unknown> = {};
  const byName = new Map([...parameters, ...fields].map((each) => [each.name, each]));
  for (const [name, { type, required = false }] of byName) {
    const parse = parsers[type];
    const description = [parse ? '' : type, required ? 'required' : ''].filter(Boolean).join(', ');
    const option = new Option(`--${optionName(name)} <${parse ? type : 'json'}>`, description);
    option.argParser((text: string) => Reflect.set(values, name, (parse ?? json)(text)));
    command.addOption(option.makeOptionMandatory(required));
  }
  // The client takes from the values only what the contract lists.
  return () => [...(parameters.length > 0 ? [values] : []), ...(body ? [isOpen ? values['body'] : values] : [])];
};

/** Every command has the options --url, --token and --help, and some characters have a meaning for Commander. */
const optionName = (name: string): string =>
  name.replace(/^(?=(?:url|token|help)$)/, 'field-').replaceAll(/[\s,|=<>[\]]/g, '-');

const integer = matching(/^-?\d+$/, 'It must be an integer.', BigInt);

const json = (text: string): unknown => {
  const value = parseJson(text);
  if (value === undefined)
    throw new InvalidArgumentError('It must be JSON, such as 1.5, true, "text", ["a"] or {"a":1}.');
  return value;
};

const parsers: Record<string, typeof json> = { string: String, integer, int64: integer, number: json, boolean: json };
