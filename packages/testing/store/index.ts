/**
 * DynamoDB in this process, also behind a proxy that fails as told.
 * @example
 * const store = await startFaultyStore('items');
 * afterAll(store.close);
 * store.fail(id, onFirstCall(loseResponse));
 */
export * from './faulty-store.ts';
export * from './item-store.ts';
