/** The page at /docs in a real browser, with the whole local service and a store that the tests can read. */
import { createServer } from 'node:http';
import type { Page } from 'playwright-core';
import { test as base, expect, onTestFinished } from 'vitest';
import { errors } from '../../functions/http/errors.ts';
import { closeServer, listen } from '../../local/listen.ts';
import { startChromium } from '../kit/chromium.ts';
import { createPlantOperation } from '../kit/contract.ts';
import { startLocalService, temporaryFolder } from '../kit/local-service.ts';
import { startPlantsStore } from '../kit/plants-store.ts';
import { startServer } from '../kit/servers.ts';

const test = base
  // biome-ignore lint/correctness/noEmptyPattern: vitest reads the names of the needed fixtures from this pattern
  .extend('store', { scope: 'file' }, async ({}, { onCleanup }) => {
    const store = await startPlantsStore();
    onCleanup(store.close);
    return store;
  })
  // biome-ignore lint/correctness/noEmptyPattern: vitest needs this pattern even if a fixture needs no other
  .extend('folder', { scope: 'file' }, async ({}, { onCleanup }) => {
    const { folder, remove } = await temporaryFolder();
    onCleanup(remove);
    return folder;
  })
  .extend('url', { scope: 'file' }, async ({ folder, store }, { onCleanup }) => {
    const service = await startLocalService(folder, { AWS_ENDPOINT_URL_DYNAMODB: store.endpoint });
    onCleanup(async () => void (await service.stop()));
    return service.url;
  })
  // A proxy that records every request to another host, by the page or by Chromium itself, and forwards none.
  // biome-ignore lint/correctness/noEmptyPattern: vitest needs this pattern even if a fixture needs no other
  .extend('otherHosts', { scope: 'file' }, async ({}, { onCleanup }) => {
    const requests: string[] = [];
    const proxy = createServer((request, response) => {
      requests.push(`${request.method} ${request.url}`);
      response.end();
    }).on('connect', (request, socket) => {
      requests.push(`CONNECT ${request.url}`);
      socket.destroy();
    });
    const port = await listen(proxy, 0);
    onCleanup(() => closeServer(proxy));
    return { proxy: `http://127.0.0.1:${port}`, requests };
  })
  .extend('browser', { scope: 'file' }, async ({ otherHosts }, { onCleanup }) => {
    const browser = await startChromium(otherHosts.proxy);
    onCleanup(() => browser.close());
    return browser;
  })
  /** One page for all tests, because loading it takes two seconds. */
  .extend('loaded', { scope: 'file' }, async ({ browser, url }, { onCleanup }) => {
    const page = await browser.newPage({ viewport: desktop });
    // No Playwright time-outs: only the test's time limit applies, so that a busy machine does not fail the page.
    page.setDefaultTimeout(0);
    onCleanup(() => page.close());
    const complaints: string[] = [];
    const requests: string[] = [];
    page.on('request', (request) => requests.push(`${request.method()} ${request.url()}`));
    page.on('console', (message) => {
      if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
    });
    page.on('pageerror', ({ message }) => complaints.push(message));
    await page.goto(`${url}/docs`);
    await page.locator('.execute').waitFor();
    return { page, complaints, requests };
  })
  /** The page as it was loaded, the errors and warnings of its console, and every request that it has sent. */
  .extend('docs', async ({ loaded }, { onCleanup }) => {
    const { page, complaints } = loaded;
    onCleanup(async () => {
      await page.setViewportSize(desktop);
      await page.locator(requestExamples).selectOption({ index: 0 });
      await clearResponse(page);
      complaints.length = 0;
    });
    return loaded;
  });

const desktop = { width: 1280, height: 800 };

const requestExamples = '.opblock-section-request-body .examples-select select';

const clearResponse = async (page: Page): Promise<void> => {
  const clear = page.locator('.btn-clear');
  if (await clear.isVisible()) await clear.click();
};

/** Sends `body`, or else the body that the page has filled in. @returns the response that the page shows */
const execute = async (page: Page, body?: string) => {
  await clearResponse(page);
  if (body !== undefined) await page.locator('textarea').fill(body);
  await page.locator('.execute').click();
  const response = page.locator('.live-responses-table .response');
  return {
    status: Number(await response.locator('.response-col_status').first().innerText()),
    body: JSON.parse(await response.locator('.highlight-code').first().innerText()),
  };
};

test('the reference page shows the operation, this service as its server, and a notice that it runs on this machine only', async ({
  docs,
  url,
}) => {
  const { page, complaints } = docs;
  expect(await page.title()).toBe('Plant Store API');
  expect(await page.locator('.notice').innerText()).toContain('on your machine only');
  expect(await page.locator('.opblock-summary').innerText()).toMatch(/POST\s+\/plants\s+Add a plant/);
  expect(await page.locator('.servers select').inputValue()).toBe(url);
  expect(complaints).toEqual([]);
});

test('the reference page shows every example of every status, and so every error number', async ({ docs }) => {
  const { page, complaints } = docs;
  const shown: unknown[] = [];
  for (const [status, { content }] of Object.entries(createPlantOperation.responses)) {
    const row = page.locator(`.responses-table .response[data-code="${status}"]`);
    const values = [];
    for (const name of Object.keys(content['application/json'].examples)) {
      await row.locator('.examples-select select').selectOption(name);
      values.push(JSON.parse(await row.locator('.highlight-code').innerText()));
    }
    expect(values).toEqual(Object.values(content['application/json'].examples).map(({ value }) => value));
    shown.push(...values.flatMap(({ error }) => error ?? []));
  }
  expect(shown).toEqual(Object.values(errors).map(({ error }) => error));
  expect(complaints).toEqual([]);
});

test('the reference page adds a plant with one click', async ({ docs, store }) => {
  const { page, complaints } = docs;
  expect(await execute(page)).toEqual({ status: 200, body: { name: 'Swiss cheese plant', tag: 'climber' } });
  expect(await store.read('1')).toEqual({
    id: { N: '1' },
    name: { S: 'Swiss cheese plant' },
    tag: { S: 'climber' },
  });
  expect(complaints).toEqual([]);
});

test('the reference page sends ids beyond 2^53 exactly, whether typed or from an example', async ({ docs, store }) => {
  const { page } = docs;
  await page.locator(requestExamples).selectOption('withoutTag');
  expect(await execute(page)).toEqual({ status: 200, body: { name: 'Moss' } });
  expect(await store.read('-9223372036854775808')).toMatchObject({ name: { S: 'Moss' } });

  expect(await execute(page, '{"id":9007199254740993,"name":"Fern"}')).toMatchObject({ status: 200 });
  expect(await store.read('9007199254740993')).toMatchObject({ name: { S: 'Fern' } });
});

test('the reference page shows the error that an invalid plant causes', async ({ docs, store }) => {
  const { page, complaints } = docs;
  expect(await execute(page, '{"id":2}')).toEqual({
    status: 400,
    body: { error: errors.notValid.error, message: 'name is required' },
  });
  expect(await store.read('2')).toBeUndefined();
  // Chromium logs this error for every response with status 400.
  expect(complaints).toEqual(['Failed to load resource: the server responded with a status of 400 (Bad Request)']);
});

test('the reference page is readable at the width of a phone, before and after a request', async ({
  docs: { page },
}) => {
  await page.setViewportSize({ width: 360, height: 800 });
  const width = () => page.evaluate<number>('document.documentElement.scrollWidth');
  expect(await width(), 'width before').toBe(360);
  await execute(page);
  expect(await width(), 'width after').toBe(360);
  for (const part of ['.info', 'textarea', '.execute', '.response .response-col_description']) {
    const boxes = await page.locator(part).all();
    for (const box of boxes)
      expect((await box.boundingBox())?.width, part).toBeGreaterThan(part === '.execute' ? 100 : 250);
  }
});

test('the reference page cannot send anything to another server', async ({ docs, url, browser, otherHosts }) => {
  const { page, requests } = docs;
  await execute(page);
  const files = ['', '/page.css', '/page.js', '/swagger-ui.css', '/swagger-ui-bundle.js'];
  const own = [...files.map((file) => `GET ${url}/docs${file}`), `POST ${url}/plants`];
  expect([...new Set(requests)].sort()).toEqual(own.sort());

  let reached = 0;
  const port = await startServer(createServer((_, response) => response.end(String(++reached))));
  for (const address of ['http://plants.example/', `http://127.0.0.1:${port}/`]) {
    expect(await page.evaluate(`fetch('${address}', { mode: 'no-cors' }).catch(String)`)).toContain('TypeError');
    await page.evaluate(`new Promise((done) => Object.assign(new Image(), { onerror: done, src: '${address}' }))`);
  }
  expect(reached, 'requests that reached the other server').toBe(0);
  const toPlants = () => otherHosts.requests.filter((each) => each.includes('plants.example'));
  expect(toPlants()).toEqual([]);

  const free = await browser.newPage();
  free.setDefaultTimeout(0);
  await free.goto('http://plants.example/');
  expect(toPlants()).not.toEqual([]);
});

test('the reference page hides its token from pages of other origins', async ({ browser, url }) => {
  const frame = `<iframe src="${url}/docs"></iframe>`;
  const port = await startServer(createServer((_, response) => response.end(`<!doctype html>${frame}`)));
  const page = await browser.newPage();
  page.setDefaultTimeout(0);
  onTestFinished(() => page.close());
  await page.goto(`http://127.0.0.1:${port}/`);
  const read = await page.evaluate((to) => fetch(to).then((response) => response.text(), String), `${url}/docs`);
  expect(read).toBe('TypeError: Failed to fetch');
  expect(page.frames().map((each) => each.url())).toEqual([
    `http://127.0.0.1:${port}/`,
    'chrome-error://chromewebdata/',
  ]);
});
