/**
 * Tests the client in a real browser, in web pages whose origin is not the service's, so that the browser sends
 * preflight requests (CORS).
 */
import { createServer } from 'node:http';
import { build } from 'esbuild';
import { expect, onTestFinished, test } from 'vitest';
import { fetchToken, readSession } from '../../local/session.ts';
import { startChromium } from '../kit/chromium.ts';
import { startLocalService, temporaryFolder } from '../kit/local-service.ts';
import { startServer } from '../kit/servers.ts';

/** Serves an empty page, and the client as /client.js. @returns the page's origin */
const startPage = async (client: Uint8Array): Promise<string> => {
  const server = createServer(({ url }, response) => {
    const isScript = url === '/client.js';
    response.setHeader('content-type', isScript ? 'text/javascript' : 'text/html');
    response.end(isScript ? client : '<!doctype html>');
  });
  return `http://127.0.0.1:${await startServer(server)}`;
};

test('a web page can call the service, and read its errors and headers, only if allowOrigins has the origin of the page', async () => {
  const { outputFiles } = await build({
    ...{ entryPoints: ['client/plant-store-client.ts'], bundle: true, write: false },
    ...{ format: 'esm', platform: 'neutral', target: 'es2022' },
  });
  const client = outputFiles[0]?.contents ?? new Uint8Array();
  const [shop, stranger] = [await startPage(client), await startPage(client)];
  const { folder, remove } = await temporaryFolder();
  onTestFinished(remove);
  const context = { CDK_CONTEXT_JSON: JSON.stringify({ allowOrigins: shop }) };
  const service = await startLocalService(folder, context);
  onTestFinished(async () => void (await service.stop()));
  const goodToken = await fetchToken(readSession(folder));
  // The browser must reach no other machine, so give it a proxy at whose address nothing listens.
  const browser = await startChromium('http://127.0.0.1:1');
  onTestFinished(() => browser.close());

  /** Opens a page of `origin`, and adds a plant from there. @returns what the page can read of the response */
  const addPlant = async (origin: string, token = goodToken): Promise<unknown> => {
    const page = await browser.newPage();
    page.setDefaultTimeout(0);
    await page.goto(origin);
    const { url: baseUrl } = service;
    const result = await page.evaluate(`(async () => {
      const { createPlantStoreClient } = await import('/client.js');
      const { createPlant } = createPlantStoreClient(${JSON.stringify({ baseUrl, token })});
      const result = await createPlant({ id: 9007199254740993n, name: 'Moss' });
      const { status, error, requestId, headers } = result;
      return { status, error, hasId: requestId !== undefined, isRepeated: headers?.get('idempotent-replayed') };
    })()`);
    await page.close();
    return result;
  };

  expect(await addPlant(shop)).toEqual({ status: 200, hasId: true, isRepeated: null });
  expect(await addPlant(shop)).toEqual({ status: 200, hasId: true, isRepeated: 'true' });
  expect(await addPlant(shop, 'a.b.c')).toEqual({ status: 403, error: 'gateway', hasId: true });
  const lines = service.output().split('\n');
  expect(lines.filter((line) => line.startsWith('OPTIONS /plants 204'))).not.toEqual([]);

  const before = service.output().length;
  expect(await addPlant(stranger)).toEqual({ error: 'no answer', hasId: false });
  expect(service.output().slice(before)).not.toContain('POST');
});
