/**
 * Makes dynalite compare lists and maps in a condition by value, as DynamoDB does. dynalite itself compares references.
 */
import database from 'dynalite/db/index.js';

const { checkConditional } = database;

database.checkConditional = ({ _condition, Expected, ConditionalOperator }, item) => {
  // dynalite accepts deeper items than can be copied.
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
