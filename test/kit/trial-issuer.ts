import type { RequestListener } from 'node:http';
import { createServer } from 'node:https';
import { makeCertificate } from '../../tools/start/certificate.ts';
import { closeServer, listen } from '../../tools/start/listen.ts';
import { makeKey, type SigningKey } from './access-tokens.ts';
import { closedDuring } from './servers.ts';

export type TrialIssuer = Awaited<ReturnType<typeof startTrialIssuer>>;

/** Starts a token issuer whose keys and responses a test controls. Its JWKS contains `key` at the start. */
export const startTrialIssuer = async () => {
  const [{ key: privateKey, certificate }, key] = await Promise.all([makeCertificate(), makeKey('ES256', 'trial')]);
  const requests: string[] = [];
  const showing =
    (...keys: SigningKey[]): RequestListener =>
    (_, response) =>
      response.end(JSON.stringify({ keys: keys.map(({ jwk }) => jwk) }));
  let listener = showing(key);
  const server = createServer({ key: privateKey, cert: certificate }, (request, response) => {
    requests.push(request.url ?? '');
    listener(request, response);
  });
  const port = await listen(server, 0);
  const issuer = `https://127.0.0.1:${port}`;
  return {
    issuer,
    jwksUri: `${issuer}/jwks`,
    certificate,
    key,
    /** The path of every request that the issuer received. */
    requests,
    publish: (...keys: SigningKey[]) => {
      listener = showing(...keys);
    },
    /** Responds to all later requests with `next`. */
    answer: (next: RequestListener) => {
      listener = next;
    },
    refuseConnections: <T>(during: () => Promise<T>) => closedDuring(server, port, during),
    useUntrustedCertificate: async <T>(during: () => Promise<T>) => {
      const other = await makeCertificate();
      server.setSecureContext({ key: other.key, cert: other.certificate });
      server.closeAllConnections();
      try {
        return await during();
      } finally {
        server.setSecureContext({ key: privateKey, cert: certificate });
      }
    },
    close: () => closeServer(server),
  };
};
