export { closeServer, listen } from 'http-api-emulator/servers';
export { makeCertificate } from '../../../tools/start/issuer.ts';
export * from './scripted-service.ts';
export * from './servers.ts';
