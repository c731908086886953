/** Reads the contract for the API reference page, and for the example command that `npm start` prints. */
import { readFile } from 'node:fs/promises';
import { dataFolder } from './settings.ts';

type Reference = { $ref?: string };
type WithExamples = { example?: unknown; examples?: Record<string, Reference & { value?: unknown }> };
type Parameter = Reference & WithExamples & { name: string; in: string; required?: boolean };
type RequestBody = Reference & { content: Record<string, WithExamples> };
type Operation = { parameters?: Parameter[]; requestBody?: RequestBody; responses: object };

export type Contract = {
  paths: Record<string, Record<string, unknown>>;
  components?: { parameters?: Record<string, unknown>; requestBodies?: object; examples?: object };
};

/** Reads the contract. Integers become bigints, so that the digits of an example beyond ±2^53 do not change. */
export const readContract = async (): Promise<Contract> => {
  // Import the package yaml here, not at the top of this file, so that `npm start` can begin its work before that
  // package is loaded.
  const { parse } = await import('yaml');
  const text = await readFile(new URL('../../schemas/openapi.yaml', import.meta.url), 'utf8');
  return parse(text, { intAsBigInt: true }) as Contract;
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
  const operations = Object.entries(contract.paths).flatMap(([path, item]) =>
    Object.entries(item)
      .filter(isOperation)
      .map(([method, operation]) => ({ ...operation, path, method, shared: item['parameters'] ?? [] })),
  );
  const chosen = operations.find(({ requestBody }) => requestBody !== undefined) ?? operations[0];
  if (chosen === undefined) return undefined;
  const { path, method, shared, parameters: own = [], requestBody } = chosen;
  const parameters = [...(shared as Parameter[]), ...own].map((each) => resolve(contract, each));
  const inPath = parameters.filter((each) => each.in === 'path');
  const values = Object.fromEntries(inPath.map((each) => [each.name, exampleOf(contract, each)]));
  const content = requestBody && resolve(contract, requestBody).content['application/json'];
  const body = content && exampleOf(contract, content);
  const needsMore = parameters.some((each) => each.required && each.in !== 'path');
  if (needsMore || Object.values(values).includes(undefined)) return undefined;
  if (requestBody && body === undefined) return undefined;
  return {
    method: method.toUpperCase(),
    path: path.replaceAll(/\{(.*?)\}/g, (_, name) => encodeURIComponent(String(values[name]))),
    ...(body !== undefined && { body: toJson(body) }),
  };
};

/** Tells operations from the other keys of a path item, such as `summary`. */
const isOperation = (entry: [string, unknown]): entry is [string, Operation] => 'responses' in Object(entry[1]);

const exampleOf = (contract: Contract, { example, examples = {} }: WithExamples): unknown => {
  const [first = {}] = Object.values(examples);
  return example ?? resolve(contract, first).value;
};

const resolve = <T extends Reference>(contract: Contract, value: T): T => {
  if (value.$ref === undefined) return value;
  const keys = value.$ref.split('/').slice(1);
  return resolve(contract, keys.reduce<unknown>((part, key) => Reflect.get(Object(part), key), contract) as T);
};

/** Returns a curl command that sends the request. It works in POSIX shells and zsh on this machine, in any folder. */
export const curlLine = (url: string, { method, path, body }: ExampleRequest): string => {
  const quote = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
  const dataDir = process.env['DATA_DIR'] ? `DATA_DIR=${quote(dataFolder())} ` : '';
  // -X is needed only if the method is not curl's default, which is POST with a body and GET without one.
  const isUsual = method === (body === undefined ? 'GET' : 'POST');
  const address = /[^\w/:.%-]/.test(path) ? quote(url + path) : url + path;
  return [
    `curl -sSi${isUsual ? '' : ` -X ${method}`} ${address}`,
    `-H "authorization: Bearer $(${dataDir}npm --prefix ${quote(process.cwd())} run -s token)"`,
    ...(body === undefined ? [] : [`-H 'content-type: application/json'`, `-d ${quote(body)}`]),
  ].join(' \\\n  ');
};
