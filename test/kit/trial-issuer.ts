import type { RequestListener } from 'node:http';
import { createServer } from 'node:https';
import { makeCertificate } from '../../tools/start/certificate.ts';
import { closeServer, listen } from '../../tools/start/listen.ts';
import { makeKey, type SigningKey } from './access-tokens.ts';
import { closedDuring } from './servers.ts';

/** A token issuer whose keys and responses a test controls. `certificate` is in PEM. */
export type TrialIssuer = {
  issuer: string;
  jwksUri: string;
  certificate: string;
  /** The key that the JWKS contains at the start. */
  key: SigningKey;
  /** The path of every request that the issuer received. */
  requests: string[];
  publish: (...keys: SigningKey[]) => void;
  /** Responds to all later requests with `listener`. */
  answer: (listener: RequestListener) => void;
  refuseConnections: <T>(during: () => Promise<T>) => Promise<T>;
  /** Presents an untrusted certificate while `during` runs. */
  useUntrustedCertificate: <T>(during: () => Promise<T>) => Promise<T>;
  close: () => Promise<void>;
};

export const startTrialIssuer = async (): Promise<TrialIssuer> => {
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
    requests,
    publish: (...keys) => {
      listener = showing(...keys);
    },
    answer: (next) => {
      listener = next;
    },
    refuseConnections: (during) => closedDuring(server, port, during),
    useUntrustedCertificate: async (during) => {
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
