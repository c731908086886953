export * from './faulty-store.ts';
export * from './item-store.ts';
