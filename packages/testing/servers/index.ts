export * from './scripted-service.ts';
export * from './servers.ts';
