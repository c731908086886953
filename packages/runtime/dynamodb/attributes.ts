/**
 * Converts JSON values to DynamoDB attributes and back. AWS's own converter reads `value.constructor`: a client can send
 * a field of that name, and something else would be stored.
 */
import type { AttributeValue } from '@aws-sdk/client-dynamodb';

/** @example attribute([7n, 'a']) // { L: [{ N: '7' }, { S: 'a' }] } */
export const attribute = (value: NonNullable<unknown> | null): AttributeValue => {
  if (value === null) return { NULL: true };
  if (typeof value === 'string') return { S: value };
  if (typeof value === 'boolean') return { BOOL: value };
  if (Array.isArray(value)) return { L: value.map(attribute) };
  if (typeof value !== 'object') return { N: String(value) };
  return { M: Object.fromEntries(Object.entries(value).map(([name, field]) => [name, attribute(field)])) };
};

export const optional = (value: unknown): AttributeValue | undefined =>
  value === undefined ? undefined : attribute(value as NonNullable<unknown> | null);

/**
 * Returns undefined without an attribute. An integer that a JavaScript number might round becomes a bigint, even in a
 * field of type `number`: convert it before you calculate with it.
 */
export const fieldValue = <Value>(attribute: AttributeValue | undefined): Value =>
  (attribute && nativeOf(attribute)) as Value;

const nativeOf = ({ N, L, M, S, BOOL }: AttributeValue): unknown => {
  if (N !== undefined) return Number.isSafeInteger(Number(N)) || !/^-?\d+$/.test(N) ? Number(N) : BigInt(N);
  if (L !== undefined) return L.map(nativeOf);
  if (M !== undefined) return Object.fromEntries(Object.entries(M).map(([name, field]) => [name, nativeOf(field)]));
  return S ?? BOOL ?? null;
};
