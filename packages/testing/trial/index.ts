export * from './alarms.ts';
export * from './forged-tokens.ts';
export * from './roll-out.ts';
export * from './scale.ts';
export * from './trial-stack.ts';
