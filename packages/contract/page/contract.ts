/** Reads a contract for the page, and makes an example request of it. */
import { readFile } from 'node:fs/promises';
import { type Contract, entriesOf, inlined } from '../document.ts';

/** A JSON Schema. Other keywords than these only describe or limit its values. */
export type Schema = {
  /** Only in a schema that refers to itself: every other reference is followed. */
  $ref?: string;
  type?: string | string[];
  description?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  allOf?: Schema[];
  anyOf?: Schema[];
  oneOf?: Schema[];
  [keyword: string]: unknown;
};
/** What has a schema and examples: a parameter, a header, or a body. */
export type Described = {
  description?: string;
  required?: boolean;
  schema?: Schema;
  example?: unknown;
  examples?: Record<string, { summary?: string; value?: unknown }>;
};
export type Body = { description?: string; content?: Record<string, Described> };
export type Operation = {
  operationId?: string;
  summary?: string;
  description?: string;
  deprecated?: boolean;
  parameters?: (Described & { name: string; in: string })[];
  requestBody?: Body;
  responses: Record<string, Body & { headers?: Record<string, Described> }>;
};

/** Reads the contract. Integers become bigints, so that the digits of an example beyond ±2^53 do not change. */
export const readContract = async (file: string | URL): Promise<Contract> => {
  // Import the package yaml here, not at the top of this file, so that a service can begin its start before that
  // package is loaded.
  const { parse } = await import('yaml');
  const text = await readFile(file, 'utf8');
  return parse(text, { intAsBigInt: true }) as Contract;
};

/** Joins a schema and the parts of its `allOf`. */
export const joined = ({ allOf = [], ...own }: Schema): Schema => {
  const parts = [...allOf.map(joined), own];
  const properties = Object.assign({}, ...parts.map((part) => part.properties));
  return { ...Object.assign({}, ...parts), properties, required: parts.flatMap(({ required = [] }) => required) };
};

export const toJson = (value: unknown, indent?: number): string =>
  JSON.stringify(value, (_, part) => (typeof part === 'bigint' ? JSON.rawJSON(`${part}`) : part), indent);

export type ExampleRequest = { method: string; path: string; body?: string };

/**
 * Composes a request from an operation's examples. Chooses the first operation that has a request body, because adding
 * data works even if the store is empty. If no operation has a body, chooses the first operation. Returns undefined if
 * an example is missing, or if the request needs a query parameter or a header.
 */
export const exampleRequest = (contract: Contract): ExampleRequest | undefined => {
  const operations = operationsOf(contract);
  const chosen = operations.find(({ requestBody }) => requestBody !== undefined) ?? operations[0];
  if (chosen === undefined) return undefined;
  const { path, method, parameters, requestBody } = chosen;
  const inPath = parameters.filter((each) => each.in === 'path');
  const values = Object.fromEntries(inPath.map((each) => [each.name, examplesOf(each)[0]?.value]));
  const content = requestBody?.content?.['application/json'];
  const body = content && examplesOf(content)[0]?.value;
  const needsMore = parameters.some((each) => each.required && each.in !== 'path');
  if (needsMore || Object.values(values).includes(undefined)) return undefined;
  if (requestBody && body === undefined) return undefined;
  return {
    method,
    path: path.replaceAll(/\{(.*?)\}/g, (_, name) => encodeURIComponent(String(values[name]))),
    ...(body !== undefined && { body: toJson(body) }),
  };
};

/** Lists the operations, each with its path, its method, and the parameters of its path. Follows references. */
export const operationsOf = (contract: Contract) =>
  entriesOf(inlined(contract, contract.paths) as Contract['paths']).flatMap(([path, item]) =>
    entriesOf(item)
      .filter(isOperation)
      .map(([method, operation]) => ({
        ...operation,
        path,
        method: method.toUpperCase(),
        parameters: [(item['parameters'] ?? []) as [], operation.parameters ?? []].flat(),
      })),
  );

/** Tells operations from the other keys of a path item, such as `summary`. */
const isOperation = (entry: [string, unknown]): entry is [string, Operation] => 'responses' in Object(entry[1]);

/** Lists the examples of a parameter or a body. */
export const examplesOf = ({ example, examples = {} }: Described) =>
  example === undefined
    ? Object.entries(examples).map(([name, { summary = name, value }]) => ({ name, summary, value }))
    : [{ name: 'example', summary: 'example', value: example }];

/** Quotes a text for POSIX shells and zsh. */
export const quote = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

/**
 * Returns a curl command that sends the request. It works in POSIX shells and zsh.
 * @param tokenCommand is a shell command that prints an access token
 */
export const curlLine = (url: string, { method, path, body }: ExampleRequest, tokenCommand: string): string => {
  // -X is needed only if the method is not curl's default, which is POST with a body and GET without one.
  const isUsual = method === (body === undefined ? 'GET' : 'POST');
  const address = /[^\w/:.%-]/.test(path) ? quote(url + path) : url + path;
  return [
    `curl -sSi${isUsual ? '' : ` -X ${method}`} ${address}`,
    `-H "authorization: Bearer $(${tokenCommand})"`,
    ...(body === undefined ? [] : [`-H 'content-type: application/json'`, `-d ${quote(body)}`]),
  ].join(' \\\n  ');
};
