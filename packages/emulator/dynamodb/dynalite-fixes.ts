/**
 * Corrects dynalite where it behaves unlike DynamoDB: replaces functions that dynalite finds in its own modules. Only
 * this file and dynalite-faults.ts use private parts of dynalite. embedded-store.test.ts says what breaks if dynalite
 * stops using them.
 */
import database from 'dynalite/db/index.js';

const { itemSize, checkConditional } = database;

/** Counts an item's text in UTF-8 bytes, as DynamoDB does. dynalite itself counts characters. */
database.itemSize = (item, ...options) => itemSize(withOneCharacterPerByte(item), ...options);

const withOneCharacterPerByte = (item: unknown): unknown =>
  JSON.parse(Buffer.from(JSON.stringify(item)).toString('latin1'));

/** Compares lists and maps in a condition by value, as DynamoDB does. dynalite itself compares references. */
database.checkConditional = ({ _condition, Expected, ConditionalOperator }, item) => {
  // A folder may have items from an earlier version that are too deep to be copied.
  if (!_condition && !Expected) return null;
  const copy = withSharedDocuments({ data: { _condition, Expected, ConditionalOperator }, item });
  return checkConditional(copy.data, copy.item);
};

/**
 * Copies a value so that equal lists, and equal maps, are one object. Only whole lists are shared, not their elements,
 * because dynalite would take lists of the same elements for equal in any order.
 */
const withSharedDocuments = <Value>(value: Value): Value => {
  const shared = new Map<string, unknown>();
  return JSON.parse(JSON.stringify(value), (key, inner) => {
    const copy = sorted(key, inner);
    if (!['L', 'M'].includes(key)) return copy;
    const json = JSON.stringify(copy);
    if (!shared.has(json)) shared.set(json, copy);
    return shared.get(json);
  });
};

/** Sorts what DynamoDB keeps in no order, so that equal values have the same JSON: sets, and the names in a map. */
const sorted = (key: string, value: unknown): unknown => {
  if (Array.isArray(value)) return ['SS', 'NS', 'BS'].includes(key) ? value.toSorted() : value;
  if (!(value instanceof Object)) return value;
  return Object.fromEntries(Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1)));
};
