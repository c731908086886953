import type { NewPlant, Plant } from '../generated/contract.ts';

export type { NewPlant, Plant };

/** Returns a plant as responses show it: without `id`, and with `tag` only if the plant has one. */
export const toPlant = ({ name, tag }: NewPlant): Plant => (tag === undefined ? { name } : { name, tag });

/**
 * Returns a plant's size as a DynamoDB item, in bytes: attribute names and values, with strings in UTF-8.
 * https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html
 */
export const itemBytes = ({ id, name, tag }: NewPlant): number =>
  'id'.length +
  numberBytes(id) +
  'name'.length +
  Buffer.byteLength(name) +
  (tag === undefined ? 0 : 'tag'.length + Buffer.byteLength(tag));

/**
 * A number takes one byte, plus one per pair of digits (except pairs of trailing zeros), plus one for a minus sign.
 * AWS calls this rule approximate; dynalite took these figures from DynamoDB itself.
 */
const numberBytes = (id: number | bigint): number => {
  const integer = BigInt(id);
  if (integer === 0n) return 1;
  const digits = String(integer).replace('-', '');
  const significant = digits.replace(/(?:00)+$/, '');
  return 1 + Math.ceil(significant.length / 2) + (integer < 0n ? 1 : 0);
};
