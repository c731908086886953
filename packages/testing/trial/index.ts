export * from './alarms.ts';
export * from './roll-out.ts';
export * from './scale.ts';
export * from './trial-stack.ts';
