import type { AttributeValue } from '@aws-sdk/client-dynamodb';

/** Thrown if an item has a number that DynamoDB cannot store. */
export class NumberOutOfRange extends Error {}

/** A schema cannot say that DynamoDB refuses numbers between 0 and 1e-130. @throws NumberOutOfRange */
export const assertStorable = (item: Record<string, AttributeValue | undefined>): void => {
  if (!Object.values(item).every(isStorable)) throw new NumberOutOfRange();
};

const isStorable = ({ N = '0', NS = [], L = [], M = {} }: AttributeValue = { NULL: true }): boolean =>
  [N, ...NS].every(isInRange) && [...L, ...Object.values(M)].every(isStorable);

const isInRange = (number: string): boolean => {
  const magnitude = Math.abs(Number(number));
  return magnitude === 0 || (magnitude >= 1e-130 && magnitude < 1e126);
};
