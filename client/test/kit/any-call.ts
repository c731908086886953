/** Makes the arguments of a call, and a response to it, for an operation of any contract. */
import type { Operation } from '@lambda-service/client';

const text = 'Löwenzahn 🌱';

/** The body of a call: the largest int64 for each int64, and a text for each other field, whatever its type. */
export const bodyFor = ({ body = {}, responses }: Operation): object => {
  const repeated = responses.flatMap(({ repeats = [] }) => repeats.map((field) => [field, 'string'] as const));
  // If the contract lists no fields, the body may have any.
  const fields = Object.keys(body).length > 0 ? Object.entries(body) : repeated;
  return Object.fromEntries(fields.map(([field, type]) => [field, type === 'int64' ? 2n ** 63n - 1n : text]));
};

/** The arguments of a call. Each parameter is 7. */
export const argumentsFor = (operation: Operation): object[] => [
  ...(operation.parameters.length > 0 ? [Object.fromEntries(operation.parameters.map(({ name }) => [name, 7]))] : []),
  ...(operation.body ? [bodyFor(operation)] : []),
];

/** The body of a valid response to such a call, or undefined if the response has none. */
export const bodyOf = (operation: Operation, response: Operation['responses'][number]): unknown => {
  const { types: [type = 'object'] = [], requires, repeats = [] } = response;
  if (requires === undefined) return undefined;
  const repeated = Object.entries(bodyFor(operation)).filter(([field]) => repeats.includes(field));
  const object = { ...Object.fromEntries(requires.map((field) => [field, text])), ...Object.fromEntries(repeated) };
  const others: Record<string, unknown> = { array: [], string: text, boolean: true, null: null, integer: 7, number: 7 };
  return type in others ? others[type] : object;
};
