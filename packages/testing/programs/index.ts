export * from './local-service.ts';
export * from './reached-service.ts';
