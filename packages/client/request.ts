/** Builds the HTTP request of an operation from the parameters and the body. */
import { toJson } from './json.ts';

/** An operation, as the code generated from a contract describes it. */
export type Operation = {
  method: string;
  path: string;
  parameters: readonly { name: string; in: 'path' | 'query' | 'header'; type: string; required?: boolean }[];
  /**
   * The fields of the request body and their types. Empty if the body may have fields that the contract does not list.
   */
  body?: Readonly<Record<string, string>>;
  /** The fields that the request body must have. */
  requires?: readonly string[];
  /**
   * The 2xx responses. A response without `requires` has no body. Otherwise, `requires` lists the fields that the body
   * must have, and `types` lists the JSON types that the body may have. Without `types`, the body may have any type.
   */
  responses: readonly {
    status: number;
    types?: readonly string[];
    requires?: readonly string[];
    repeats?: readonly string[];
  }[];
  errorCodes: readonly number[];
};

export type HttpRequest = { url: string; headers: Record<string, string>; body?: string };

/**
 * Builds the request of an operation.
 * @throws RangeError if a parameter or the body has a value that cannot be sent exactly
 */
export const requestOf = (operation: Operation, baseUrl: string, parameters: object, body: unknown): HttpRequest => {
  const values = operation.parameters.flatMap(({ name, in: place, type }) => {
    const given: unknown = Reflect.get(parameters, name);
    mustBeExact(name, type, given);
    const texts = [given]
      .flat()
      .filter((value) => value !== undefined)
      .map(String);
    for (const text of texts) mustBeSendable(name, place, text);
    return texts.map((text) => ({ name, place, text }));
  });
  const path = operation.path.replaceAll(/\{([^}]*)\}/g, (_, name) =>
    segment(name, values.find((value) => value.place === 'path' && value.name === name)?.text),
  );
  const query = values
    .filter(({ place }) => place === 'query')
    .map(({ name, text }) => `${encodeURIComponent(name)}=${encodeURIComponent(text)}`);
  const headers = Object.fromEntries(
    values.filter(({ place }) => place === 'header').map(({ name, text }) => [name, text]),
  );
  const url = `${baseUrl}${path}${query.length > 0 ? '?' : ''}${query.join('&')}`;
  const json = operation.body && bodyOf(operation.body, body);
  if (json === undefined) return { url, headers };
  // The service refuses an unescaped U+FFFD, because API Gateway puts it in the place of bytes that are not UTF-8.
  const escaped = json.replaceAll('\ufffd', '\\ufffd');
  return { url, headers: { ...headers, 'content-type': 'application/json' }, body: escaped };
};

const mustBeExact = (name: string, type: string, given: unknown): void => {
  const inexact = [given].flat().find((value) => typeof value === 'number' && !Number.isSafeInteger(value));
  if (!/\bint64\b/.test(type) || inexact === undefined) return;
  throw new RangeError(
    `${name} is the number ${inexact}, which is not an integer, or is too large to be exact: use a bigint, such as 9007199254740993n.`,
  );
};

/**
 * Refuses text that cannot be sent unchanged: fetch trims header values and sends them as Latin-1; URLs are UTF-8,
 * which cannot encode an unpaired surrogate.
 */
const mustBeSendable = (name: string, place: string, text: string): void => {
  const isSendable = place === 'header' ? /^(?! )[ -~\x80-\xff]*(?<! )$/.test(text) : text.isWellFormed();
  if (!isSendable)
    throw new RangeError(
      `The ${place} parameter ${name} has a character that cannot be sent there: ${JSON.stringify(text)}.`,
    );
};

/**
 * Refuses integers, at any depth, that are too large to be exact. The client does not know the types of nested values,
 * so such an integer could be an int64 that has lost digits.
 */
const mustBeExactWithin = (name: string, value: unknown): void => {
  if (Number.isInteger(value)) mustBeExact(name, 'int64', value);
  if (value instanceof Object)
    for (const [key, field] of Object.entries(value)) mustBeExactWithin(`${name}.${key}`, field);
};

/** Encodes a path parameter. Refuses an empty string, `.` and `..`, which would change the path of the URL. */
const segment = (name: string, text = ''): string => {
  if (['', '.', '..'].includes(text)) throw new RangeError(`The path parameter ${name} must not be '${text}'.`);
  return encodeURIComponent(text);
};

/** Writes a body as JSON: only the fields in `types`, or all its fields if `types` is empty. */
const bodyOf = (types: Readonly<Record<string, string>>, body: unknown): string | undefined => {
  if (Object.keys(types).length === 0) {
    mustBeExactWithin('body', body);
    return toJson(body);
  }
  const fields = Object.entries(types).map(([name, type]) => {
    const value: unknown = Reflect.get(body as object, name);
    mustBeExact(name, type, value);
    if (!/\bnumber\b/.test(type)) mustBeExactWithin(name, value);
    return [name, value];
  });
  return toJson(Object.fromEntries(fields));
};
