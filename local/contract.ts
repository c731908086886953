/** Reads schemas/openapi.yaml for the reference page and for the command that `npm start` prints. */
import { readFile } from 'node:fs/promises';

declare global {
  interface JSON {
    /** Node.js has had JSON.rawJSON since version 21; TypeScript does not declare it yet. */
    rawJSON: (text: string) => unknown;
  }
}

type MediaType = { examples?: Record<string, { value: unknown }> };
type Operation = {
  parameters?: { name: string; example?: unknown }[];
  requestBody?: { content: Record<string, MediaType> };
};

export type Contract = {
  paths: Record<string, Record<string, Operation>>;
  components?: { parameters?: Record<string, unknown> };
};

/** Reads the contract. Integers become bigints, since one example exceeds 2^53. */
export const readContract = async (): Promise<Contract> => {
  // yaml is imported here, not at the top, so that the start does not wait for it.
  const { parse } = await import('yaml');
  const text = await readFile(new URL('../schemas/openapi.yaml', import.meta.url), 'utf8');
  return parse(text, { intAsBigInt: true }) as Contract;
};

/** Writes JSON in which each bigint is a number. */
export const toJson = (value: unknown, indent?: number): string =>
  JSON.stringify(value, (_, part) => (typeof part === 'bigint' ? JSON.rawJSON(`${part}`) : part), indent);

export type ExampleRequest = { method: string; path: string; body?: string };

/**
 * Returns a request made of the examples of one operation: the first that has a body, because an empty store can answer
 * it, or else the first.
 */
export const exampleRequest = ({ paths }: Contract): ExampleRequest => {
  const operations = Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).flatMap(([method, operation]) =>
      'responses' in operation ? { path, method, ...operation } : [],
    ),
  );
  const chosen = operations.find(({ requestBody }) => requestBody !== undefined) ?? operations[0];
  const { path = '', method = '', parameters = [], requestBody } = chosen ?? {};
  const [example] = Object.values(requestBody?.content['application/json']?.examples ?? {});
  return {
    method: method.toUpperCase(),
    path: path.replaceAll(/\{(.*?)\}/g, (_, name) =>
      encodeURIComponent(String(parameters.find((each) => each.name === name)?.example)),
    ),
    ...(example && { body: toJson(example.value) }),
  };
};
