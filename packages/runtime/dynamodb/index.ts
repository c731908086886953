/** Calls to DynamoDB that end in time, and whose failures say whether a repetition is safe; items and their values. */
export type { AttributeValue } from '@aws-sdk/client-dynamodb';
export { addItem, addUnlessOther, type Item, ItemConflict, ItemTooLarge, type Outcome } from './add-item.ts';
export { attribute, fieldValue, optional } from './attributes.ts';
export { callStore, type OngoingRequest, openTable, StoreUnavailable, type Table } from './call-store.ts';
export { FieldNotStorable, NumberOutOfRange } from './storable.ts';
