/**
 * Servers on free ports of 127.0.0.1.
 * @example
 * const { baseUrl, received } = await startScriptedService(answer(503, {}), answer(200, { name: 'a' }));
 */

export { makeCertificate } from '@lambda-service/tools/issuer';
export { closeServer, listen } from 'http-api-emulator/servers';
export * from './scripted-service.ts';
export * from './servers.ts';
