export { createOperation, createRoute } from '../under-test.ts';
export * from './contract.ts';
export * from './example.ts';
export * from './keys.ts';
export * from './proxy-event.ts';
