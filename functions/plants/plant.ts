import type { NewPlant, Plant } from '../generated/contract.ts';

export type { NewPlant, Plant };

/** What an answer shows of a plant: no id, and `tag` only where it was given. */
export const toPlant = ({ name, tag }: NewPlant): Plant => (tag === undefined ? { name } : { name, tag });

/**
 * The bytes that a plant takes as a DynamoDB item: attribute names and strings in UTF-8.
 * https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html
 */
export const itemBytes = ({ id, name, tag }: NewPlant): number =>
  'id'.length +
  numberBytes(id) +
  'name'.length +
  Buffer.byteLength(name) +
  (tag === undefined ? 0 : 'tag'.length + Buffer.byteLength(tag));

/**
 * One byte for each pair of digits, pairs of trailing zeros left out, one more, and one more for a minus sign. AWS calls
 * the rule approximate; these are the figures that dynalite took from the service.
 */
const numberBytes = (id: number | bigint): number => {
  const integer = BigInt(id);
  if (integer === 0n) return 1;
  const digits = String(integer).replace('-', '');
  const significant = digits.replace(/(?:00)+$/, '');
  return 1 + Math.ceil(significant.length / 2) + (integer < 0n ? 1 : 0);
};
