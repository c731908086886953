export * from './model.ts';
export * from './responses.ts';
