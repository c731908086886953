/**
 * Corrects dynalite where it behaves unlike DynamoDB: replaces functions that dynalite finds in its own modules. Only
 * this file and dynalite-faults.ts use private parts of dynalite. embedded-store.test.ts says what breaks if dynalite
 * stops using them.
 */
import type { Index, Item, Value } from 'dynalite/db/index.js';
import database from 'dynalite/db/index.js';
import validations from 'dynalite/validations/index.js';
import scan from 'dynalite/validations/scan.js';
import { independent, refusalOf, refusalOfParsed } from './expressions.ts';

const { itemSize, checkConditional, validationError } = database;
const { queryTable, traverseIndexes, updateIndexes, validateItem } = database;
const { checkValidations, validateExpressions } = validations;

/** Refuses an empty attribute name at any depth, and values that are too deep. dynalite itself accepts both. */
validations.checkValidations = (data, ...options) => {
  if (hasEmptyKey(data)) throw validationError('An attribute name must not be empty.');
  checkValidations(data, ...options);
  const refusal = tooDeep(data.ExpressionAttributeValues ?? {});
  if (refusal) throw refusal;
};

/** Also refuses and applies expressions as DynamoDB does. */
validations.validateExpressions = (request) => {
  const refusal = refusalOf(request) ?? validateExpressions(request) ?? refusalOfParsed(request);
  if (request._updates) request._updates.sections = independent(request._updates.sections);
  return refusal;
};

// dynalite ignores it, and so accepts it for a global index.
scan.types['ConsistentRead'] = 'Boolean';

const hasEmptyKey = (value: unknown): boolean =>
  value instanceof Object && Object.entries(value).some(([key, inner]) => key === '' || hasEmptyKey(inner));

/**
 * Refuses values of more than 32 levels: text has 1, and each list or map around it adds 1.
 * https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html
 */
const tooDeep = (values: Item): Error | false => isDeeper({ M: values }, 33) && validationError(levelsExceeded);

const levelsExceeded =
  'Nesting Levels have exceeded supported limits: Attributes in the item have nested levels beyond supported limit';

const isDeeper = ({ L, M }: Value, levels: number): boolean =>
  levels === 0 || Object.values(L ?? M ?? {}).some((inner) => isDeeper(inner, levels - 1));

/** Refuses an empty value of a key, as DynamoDB does. dynalite itself checks keys of tables only, and only in items. */
const emptyKey = (value: Value | undefined, reason: string, where: string): Error | undefined => {
  const type = value?.S === '' ? 'string' : value?.B === '' ? 'binary' : undefined;
  const message = `The AttributeValue for a key attribute cannot contain an empty ${type} value.${where}`;
  return type && validationError(`One or more parameter values are not valid.${reason} ${message}`);
};

const notInIndex = ' A value specified for a secondary index key is not supported.';
const notInUpdate =
  ' The update expression attempted to update a secondary index key to a value that is not supported.';
const placeOf = (name: string, index: Index) => ` IndexName: ${index.IndexName}, IndexKey: ${name}`;

database.validateItem = (item, table) =>
  validateItem(item, table) ||
  tooDeep(item) ||
  traverseIndexes(table, (name, _, index) => emptyKey(item[name], notInIndex, placeOf(name, index)));

/** Checks an item after an update, which dynalite's `validateItem` does not see. */
database.updateIndexes = (store, table, old, item, done) => {
  const refusal = item && (tooDeep(item) || traverseIndexes(table, (name) => emptyKey(item[name], notInUpdate, '')));
  if (refusal) done(refusal);
  else updateIndexes(store, table, old, item, done);
};

/**
 * Reads what an index does not project from the table if the index is local; otherwise refuses it, as DynamoDB does.
 * dynalite itself leaves it out. https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_Query.html
 */
database.queryTable = (store, table, data, range, isLocal, readsTable, keyNames, done) => {
  const { IndexName, KeyConditions = {}, QueryFilter = {}, AttributesToGet = [], _filter, _projection } = data;
  const index = traverseIndexes(table, (_name, _type, each) => (each.IndexName === IndexName ? each : undefined));
  for (const [name, { AttributeValueList }] of Object.entries(KeyConditions)) {
    const refusal = index && emptyKey(AttributeValueList[0], notInIndex, placeOf(name, index));
    if (refusal) return done(refusal);
  }
  const { ProjectionType = 'ALL', NonKeyAttributes = [] } = index?.Projection ?? {};
  const isMissing = (name: string) =>
    !readsTable && ProjectionType !== 'ALL' && ![...keyNames, ...NonKeyAttributes].includes(name);
  const filtered = Object.keys((data.KeyConditions && _filter?.pathHeads) ?? QueryFilter).filter(isMissing);
  const requested = (_projection?.paths.map(([name]) => String(name)) ?? AttributesToGet).filter(isMissing);
  const refusal =
    filtered.length > 0
      ? `Secondary index ${IndexName} does not project one or more filter attributes: [${filtered.toSorted().join(', ')}]`
      : requested.length > 0 &&
        !isLocal &&
        `Global secondary index ${IndexName} does not project [${requested.join(', ')}]`;
  if (refusal) return done(validationError(`One or more parameter values were invalid: ${refusal}`));
  queryTable(store, table, data, range, isLocal, readsTable || requested.length > 0, keyNames, done);
};

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
