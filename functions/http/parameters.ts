/** A parameter of an operation. `property` is the part of the gateway's event that has its text. */
export type EventParameter = {
  name: string;
  property: 'pathParameters' | 'queryStringParameters' | 'headers';
  type: 'string' | 'integer' | 'int64' | 'number' | 'boolean';
  isList: boolean;
  default?: unknown;
};

type HttpEvent = { rawQueryString?: string } & { [Property in EventParameter['property']]?: Record<string, unknown> };

const integer = /^-?(?:0|[1-9]\d*)$/;
const number = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** Text that is not a value of the type stays text, which the validator then refuses. */
const values: Record<EventParameter['type'], (text: string) => unknown> = {
  string: (text) => text,
  integer: (text) => (integer.test(text) ? Number(text) : text),
  int64: (text) => (integer.test(text) ? BigInt(text) : text),
  number: (text) => (number.test(text) ? Number(text) : text),
  boolean: (text) => (text === 'true' || text === 'false' ? text === 'true' : text),
};

/** Replaces the text of each parameter with its value, or with its default if the request does not have it. */
export const parseParameters = (event: HttpEvent, parameters: readonly EventParameter[]): void => {
  for (const { name, property, type, isList, default: standard } of parameters) {
    event[property] ??= {};
    const parsed = textsOf(event, property, name).map(values[type]);
    // A parameter that is repeated, though it is not a list, stays an array, which the validator refuses.
    event[property][name] = isList || parsed.length > 1 ? parsed : parsed[0];
    if (parsed.length === 0) event[property][name] = standard;
  }
};

/** The gateway joins repeated query parameters with commas, which their values may contain, so its text is parsed here. */
const textsOf = (event: HttpEvent, property: EventParameter['property'], name: string): string[] => {
  if (property === 'queryStringParameters') return new URLSearchParams(event.rawQueryString).getAll(name);
  const text = event[property]?.[name];
  return typeof text === 'string' ? [text] : [];
};
