import type { AttributeValue } from '@aws-sdk/client-dynamodb';

/** Thrown if an item has a number that DynamoDB cannot store. */
export class NumberOutOfRange extends Error {}

/** Thrown if an attribute has more than 32 levels of lists and maps, or a name in a map that is empty or too long. */
export class FieldNotStorable extends Error {}

/** Checks what a schema cannot say, and DynamoDB refuses. @throws NumberOutOfRange or FieldNotStorable */
export const assertStorable = (item: Record<string, AttributeValue | undefined>): void => {
  for (const attribute of Object.values(item)) if (attribute !== undefined) assertInLimits(attribute, 0);
};

const assertInLimits = ({ N = '0', NS = [], L = [], M = {} }: AttributeValue, level: number): void => {
  if (level > 32 || !Object.keys(M).every(isName)) throw new FieldNotStorable();
  if (![N, ...NS].every(isInRange)) throw new NumberOutOfRange();
  for (const each of [...L, ...Object.values(M)]) assertInLimits(each, level + 1);
};

const isName = (name: string): boolean => name !== '' && Buffer.byteLength(name) < 2 ** 16;

/** DynamoDB refuses numbers between 0 and 1e-130. */
const isInRange = (number: string): boolean => {
  const magnitude = Math.abs(Number(number));
  return magnitude === 0 || (magnitude >= 1e-130 && magnitude < 1e126);
};
