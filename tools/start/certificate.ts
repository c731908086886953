import { randomUUID } from 'node:crypto';
import { generate } from 'selfsigned';

/**
 * Makes a self-signed certificate for 127.0.0.1 and its private key, both in PEM. Each certificate has a unique name:
 * of several trusted certificates with the same name, TLS could pick an older one, and reject the new one.
 */
export const makeCertificate = async (): Promise<{ key: string; certificate: string }> => {
  const { private: key, cert: certificate } = await generate(
    [{ name: 'commonName', value: `Plant Store local issuer ${randomUUID()}` }],
    { keyType: 'ec', extensions: [{ name: 'subjectAltName', altNames: [{ type: 7, ip: '127.0.0.1' }] }] },
  );
  return { key, certificate };
};
