export { makeCertificate } from '../../../tools/start/issuer.ts';
export { closeServer, listen } from '../../emulator/servers.ts';
export * from './scripted-service.ts';
export * from './servers.ts';
