export * from './access-tokens.ts';
export * from './forged-tokens.ts';
