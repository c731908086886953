export * from './handler-permissions.ts';
export * from './settings.ts';
export * from './stacks.ts';
export * from './template.ts';
