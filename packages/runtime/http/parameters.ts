import { CatalogueError, errors } from './errors.ts';

export type EventParameter = {
  name: string;
  property: 'pathParameters' | 'queryStringParameters' | 'headers';
  type: 'string' | 'integer' | 'int64' | 'number' | 'boolean';
  isList: boolean;
  default?: unknown;
};

type HttpEvent = { rawQueryString?: string } & { [Property in EventParameter['property']]?: Record<string, unknown> };

const integer = /^(?:0|-?[1-9]\d*)$/;
const number = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** Text that does not fit the type stays text, which the validator refuses. */
const values: Record<EventParameter['type'], (text: string) => unknown> = {
  string: (text) => text,
  integer: (text) => (integer.test(text) ? Number(text) : text),
  int64: (text) => (integer.test(text) ? BigInt(text) : text),
  number: (text) => (number.test(text) ? Number(text) : text),
  boolean: (text) => (text === 'true' || text === 'false' ? text === 'true' : text),
};

/**
 * Replaces each parameter's text in the event with the parsed value. A missing parameter gets its default value.
 * @throws CatalogueError notValid if the operation has query parameters and the query string is not UTF-8
 */
export const parseParameters = (event: HttpEvent, parameters: readonly EventParameter[]): void => {
  // In `queryStringParameters`, API Gateway joins repeated values with commas, and a value may contain commas, too.
  const query = parameters.some(({ property }) => property === 'queryStringParameters') ? queryOf(event) : undefined;
  for (const { name, property, type, isList, default: standard } of parameters) {
    event[property] ??= {};
    const inEvent = event[property][name];
    const texts = property === 'queryStringParameters' ? query?.getAll(name) : [inEvent];
    const parsed = (texts ?? []).filter((text) => typeof text === 'string').map(values[type]);
    // The validator refuses an array if the parameter is not a list.
    event[property][name] = isList || parsed.length > 1 ? parsed : parsed[0];
    if (parsed.length === 0) event[property][name] = standard;
  }
};

const notUtf8 = 'the query string must be UTF-8';

/** Parsing turns bytes that are not UTF-8 into U+FFFD, so there must not be more of them than the client has sent. */
const queryOf = ({ rawQueryString = '' }: HttpEvent): URLSearchParams => {
  const query = new URLSearchParams(rawQueryString);
  if (query.toString().split('%EF%BF%BD').length !== rawQueryString.split(/%EF%BF%BD/i).length)
    throw new CatalogueError(errors.notValid, notUtf8, notUtf8);
  return query;
};
