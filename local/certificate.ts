import { randomUUID } from 'node:crypto';
import { generate } from 'selfsigned';

/**
 * Makes a self-signed certificate for 127.0.0.1 and its private key, both in PEM. Its name is unique, because TLS finds
 * a trusted certificate by name: if names were equal, it would try an earlier one and reject this one.
 */
export const makeCertificate = async (): Promise<{ key: string; certificate: string }> => {
  const { private: key, cert: certificate } = await generate(
    [{ name: 'commonName', value: `Plant Store local issuer ${randomUUID()}` }],
    { keyType: 'ec', extensions: [{ name: 'subjectAltName', altNames: [{ type: 7, ip: '127.0.0.1' }] }] },
  );
  return { key, certificate };
};
