export * from './handler-permissions.ts';
export * from './stacks.ts';
export * from './template.ts';
