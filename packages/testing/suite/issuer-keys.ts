/**
 * Tests the authorizer while an issuer's endpoint gives it no keys. packages/runtime/test/auth/issuer-keys.test.ts
 * tests with a fake clock how long keys stay in use, how often they are fetched, and which key sets are not valid.
 */
import type { RequestListener } from 'node:http';
import { expect, test } from 'vitest';
import { bodyOf } from '../data/index.ts';
import { type Handler, startTrial } from '../trial/index.ts';
import { part } from './part.ts';

export const testIssuerKeys = part('tokens', async () => {
  /** Wraps a handler so that each event cold-starts the function. */
  const restarting = (_: Handler): Handler => {
    const bundle = module.children[0]?.id ?? '';
    return (event, context) => {
      delete require.cache[bundle];
      return require(bundle).handler(event, context);
    };
  };

  const { stack } = await startTrial({ authorizer: { wrapper: restarting } });

  type Failing = <T>(during: () => Promise<T>) => Promise<T>;

  const answering =
    (listener: RequestListener): Failing =>
    (during) => {
      stack.issuer.answer(listener);
      return during();
    };

  const keySet = () => JSON.stringify({ keys: [stack.issuer.key.jwk] });

  test.each<[what: string, failing: Failing]>([
    ['refuses connections', (during) => stack.issuer.refuseConnections(during)],
    ['hangs up', answering(({ socket }) => socket.destroy())],
    ['presents an untrusted certificate', (during) => stack.issuer.useUntrustedCertificate(during)],
    ['answers 500', answering((_, response) => response.writeHead(500).end(keySet()))],
    [
      'redirects',
      answering(({ url }, response) =>
        response.writeHead(url !== '/moved' ? 302 : 200, { location: '/moved' }).end(keySet()),
      ),
    ],
  ])(
    'if an issuer %s, a valid token gets a 500, and is accepted once the issuer shows its keys',
    async (_, failing) => {
      const status = async () => (await stack.send(bodyOf())).status;
      expect(await failing(status)).toBe(500);
      stack.issuer.publish(stack.issuer.key);
      expect(await status()).toBe(200);
    },
  );
});
