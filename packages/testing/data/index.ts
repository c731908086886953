export * from './contract.ts';
export * from './example.ts';
export * from './keys.ts';
