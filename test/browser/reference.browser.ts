/** Tests the page at /docs in a real browser, with the whole local service and a store that the tests can read. */
import { createServer } from 'node:http';
import axe, { type AxeResults } from 'axe-core';
import type { Locator, Page } from 'playwright-core';
import { test as base, describe, expect, onTestFinished } from 'vitest';
import { errors } from '../../functions/http/errors.ts';
import { readContract } from '../../local/contract.ts';
import { closeServer, listen } from '../../local/listen.ts';
import { startChromium } from '../kit/chromium.ts';
import { type Contract, examplesOf, operations, operationsOf, type Parameter } from '../kit/contract.ts';
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
  // biome-ignore lint/correctness/noEmptyPattern: vitest demands this pattern even if no other fixture is used
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
  // biome-ignore lint/correctness/noEmptyPattern: vitest demands this pattern even if no other fixture is used
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
  /** All tests share one page, because loading a page takes two seconds. */
  .extend('loaded', { scope: 'file' }, async ({ browser, url }, { onCleanup }) => {
    const page = await browser.newPage({ viewport: desktop });
    // Turn off Playwright's time-outs, which a busy machine may exceed. The time limit of each test still applies.
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
    await page.locator('.execute').last().waitFor();
    return { page, complaints, requests };
  })
  /**
   * The page, its console's errors and warnings, and every request that it has sent. The page is reset after each test.
   */
  .extend('docs', async ({ loaded }, { onCleanup }) => {
    const { page, complaints } = loaded;
    onCleanup(async () => {
      await page.setViewportSize(desktop);
      await page.emulateMedia({ colorScheme: 'light' });
      // Select the example by its name: after a test has typed a body, the first option is that body, not an example.
      await createPlant(page).locator(requestExamples).selectOption('plant');
      for (const { id } of operations) await clearResponse(blockOf(page, id));
      complaints.length = 0;
    });
    return loaded;
  });

const desktop = { width: 1280, height: 800 };
const phone = { width: 390, height: 844 };

const requestExamples = '.opblock-section-request-body .examples-select select';

/** Returns the part of the page that shows an operation. */
const blockOf = (page: Page, operationId: string): Locator => page.locator(`.opblock[id$="-${operationId}"]`);

const createPlant = (page: Page): Locator => blockOf(page, 'createPlant');

const clearResponse = async (block: Locator): Promise<void> => {
  const clear = block.locator('.btn-clear');
  if (await clear.isVisible()) await clear.click();
};

/** Sends a request with `body`, or else with what the page has filled in. @returns the response that the page shows */
const execute = async (block: Locator, body?: string) => {
  await clearResponse(block);
  if (body !== undefined) await block.locator('textarea').fill(body);
  await block.locator('.execute').click();
  const response = block.locator('.live-responses-table .response');
  const status = Number(await response.locator('.response-col_status').first().innerText());
  // If the response has no body, the page has no .highlight-code element, and `text` is undefined.
  const [text] = await response.locator('.highlight-code').first().allInnerTexts();
  return { status, body: text && JSON.parse(text) };
};

test('the reference page shows every operation, the local service as the server, and a notice that the page is on this machine only', async ({
  docs,
  url,
}) => {
  const { page, complaints } = docs;
  expect(await page.title()).toBe('Plant Store API');
  expect(await page.locator('.notice').innerText()).toContain('on your machine only');
  const shown = await page.locator('.opblock-summary').allInnerTexts();
  expect(shown.map((text) => text.split(/\s+/, 2).join(' '))).toEqual(operations.map(({ routeKey }) => routeKey));
  expect(shown).toContainEqual(expect.stringMatching(/POST\s+\/plants\s+Add a plant/));
  expect(await page.locator('.servers select').inputValue()).toBe(url);
  expect(complaints).toEqual([]);
});

test('on the reference page, one click adds a plant', async ({ docs, store }) => {
  const { page, complaints } = docs;
  expect(await execute(createPlant(page))).toEqual({
    status: 200,
    body: { name: 'Swiss cheese plant', tag: 'climber' },
  });
  expect(await store.read('1')).toEqual({
    id: { N: '1' },
    name: { S: 'Swiss cheese plant' },
    tag: { S: 'climber' },
  });
  expect(complaints).toEqual([]);
});

test('the reference page sends ids beyond 2^53 exactly, whether typed or from an example', async ({ docs, store }) => {
  const { page } = docs;
  await createPlant(page).locator(requestExamples).selectOption('withoutTag');
  expect(await execute(createPlant(page))).toEqual({ status: 200, body: { name: 'Moss' } });
  expect(await store.read('-9223372036854775808')).toMatchObject({ name: { S: 'Moss' } });

  expect(await execute(createPlant(page), '{"id":9007199254740993,"name":"Fern"}')).toMatchObject({ status: 200 });
  expect(await store.read('9007199254740993')).toMatchObject({ name: { S: 'Fern' } });
});

test('the reference page shows the error that an invalid plant causes', async ({ docs, store }) => {
  const { page, complaints } = docs;
  expect(await execute(createPlant(page), '{"id":2}')).toEqual({
    status: 400,
    body: { error: errors.notValid.error, message: 'name is required' },
  });
  expect(await store.read('2')).toBeUndefined();
  // Expect one message: Chromium logs "Failed to load resource" for every response with status 400.
  expect(complaints).toEqual(['Failed to load resource: the server responded with a status of 400 (Bad Request)']);
});

/** Returns the critical and serious accessibility problems that axe finds: for each, axe's rule and the elements. */
const faultsOf = async (page: Page): Promise<[rule: string, elements: string[]][]> => {
  // Wait until a transition between light and dark mode has ended: axe would otherwise measure colours in the middle of
  // it.
  await page.evaluate(
    'Promise.allSettled(document.getAnimations().map((each) => each instanceof CSSTransition && each.finished))',
  );
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate<AxeResults>('axe.run()');
  const serious = violations.filter(({ impact }) => impact === 'critical' || impact === 'serious');
  return serious.map(({ id, nodes }) => [id, nodes.map(({ target }) => target.join(' '))]);
};

describe.each([
  ['a desktop', desktop],
  ['a phone', phone],
])('the reference page, on %s,', (_, viewport) => {
  const isInView = async (part: Locator): Promise<boolean> => {
    const { y = -1, height = 0 } = (await part.boundingBox()) ?? {};
    return y >= 0 && y + height <= viewport.height;
  };

  test('shows the request form without scrolling, and scrolls to the response when it arrives', async ({
    docs: { page },
  }) => {
    await page.setViewportSize(viewport);
    await page.evaluate('scrollTo(0, 0)');
    // Look at the first operation on the page, whichever that is: after a change of the contract, it might not be
    // createPlant.
    const first = page.locator('.opblock').first();
    for (const part of ['.opblock-summary', 'textarea, input', '.execute'])
      expect(await isInView(first.locator(part).first()), `${part} in view`).toBe(true);
    for (let turn = 0; turn < 2; turn += 1) {
      await page.evaluate('scrollTo(0, 0)');
      await execute(createPlant(page));
      await expect.poll(() => isInView(createPlant(page).locator('.live-responses-table'))).toBe(true);
    }
  });

  for (const mode of ['light', 'dark'] as const) {
    test(`has no serious accessibility problem in ${mode} mode`, async ({ docs: { page } }) => {
      await page.setViewportSize(viewport);
      await page.emulateMedia({ colorScheme: mode });
      const background = () => page.evaluate<string>('getComputedStyle(document.documentElement).backgroundColor');
      await expect.poll(background).toBe(mode === 'dark' ? 'rgb(28, 32, 34)' : 'rgba(0, 0, 0, 0)');
      expect(await faultsOf(page), 'before a request').toEqual([]);
      await execute(createPlant(page));
      expect(await faultsOf(page), 'after a request').toEqual([]);
      const unfold = page.locator('.fold');
      for (const button of await unfold.all()) await button.click();
      expect(await faultsOf(page), 'with all texts').toEqual([]);
      for (const button of await unfold.all()) await button.click();
    });
  }
});

test('the reference page fits the width of a phone, before and after a request', async ({ docs: { page } }) => {
  await page.setViewportSize({ width: 360, height: 800 });
  const width = () => page.evaluate<number>('document.documentElement.scrollWidth');
  expect(await width(), 'width before').toBe(360);
  await execute(createPlant(page));
  expect(await width(), 'width after').toBe(360);
  for (const part of ['.info', 'textarea', '.execute', '.response:visible .response-col_description']) {
    const boxes = await page.locator(part).all();
    for (const box of boxes)
      expect((await box.boundingBox())?.width, part).toBeGreaterThan(part === '.execute' ? 100 : 250);
  }
});

/** The contract's operations. Each integer in an example is a bigint, so that large ones are not rounded. */
const exactOperations = operationsOf((await readContract()) as unknown as Contract);

/** Returns the texts that the page shows for a parameter's example: one text or, for a list, one for each element. */
const textsOf = ({ example = [] }: Parameter): string[] => [example].flat().map(String);

describe.each(exactOperations)('the reference page, for $routeKey,', (operation) => {
  const { id, method, path, parameters } = operation;

  test('shows only the first response status and, only after a click, all statuses with all their examples', async ({
    docs: { page, complaints },
  }) => {
    const { responses = [] } = operations.find((each) => each.id === id) ?? {};
    const shown = blockOf(page, id).locator('.responses-table:not(.live-responses-table) .response:visible');
    expect(await shown.count(), 'statuses').toBe(1);
    const all = blockOf(page, id).getByRole('button', { name: 'All statuses' });
    await all.click();
    expect(await shown.count(), 'statuses').toBe(responses.length);
    for (const { status, ...body } of responses) {
      const row = blockOf(page, id).locator(`.responses-table .response[data-code="${status}"]`);
      const values = [];
      for (const name of Object.keys(body.examples ?? {})) {
        // If a response has a single example without a name, the page shows no list to choose from.
        const list = row.locator('.examples-select select');
        if ((await list.count()) > 0) await list.selectOption(name);
        values.push(JSON.parse(await row.locator('.highlight-code').innerText()));
      }
      expect(values, `examples of ${status}`).toEqual(examplesOf(body));
    }
    await all.click();
    expect(await shown.count(), 'statuses').toBe(1);
    expect(complaints).toEqual([]);
  });

  test('sends the example parameters and the example body unchanged, and gets a status that the contract documents', async ({
    docs: { page },
    url,
  }) => {
    const sending = page.waitForRequest((request) => request.method() === method && !request.url().includes('/docs'));
    const { status } = await execute(blockOf(page, id));
    const sent = await sending;
    const target = new URL(sent.url());
    const given = (place: string) => parameters.filter((each) => each.in === place);
    const filledIn = given('path').reduce((rest, each) => rest.replace(`{${each.name}}`, `${each.example}`), path);
    expect(decodeURI(target.origin + target.pathname)).toBe(url + filledIn);
    const query = given('query').flatMap((each) => textsOf(each).map((text) => [each.name, text]));
    expect([...target.searchParams]).toEqual(query);
    const headers = given('header').map((each) => [each.name.toLowerCase(), textsOf(each).join(',')]);
    expect(sent.headers()).toMatchObject(Object.fromEntries(headers));
    expect(operation.responses.map((each) => each.status)).toContain(status);
    expect([400, 401, 403, 415], 'statuses of invalid requests').not.toContain(status);
  });

  // 2^53 + 1, which a double cannot represent.
  const large = '9007199254740993';
  const integers = parameters.filter(({ schema }) => 'format' in schema && schema.format === 'int64');

  for (const { name, example } of integers) {
    test(`sends the parameter ${name} exactly as it was typed, even beyond 2^53`, async ({ docs: { page } }) => {
      const input = blockOf(page, id).locator(`tr[data-param-name="${name}"] input`);
      await input.fill(large);
      const sending = page.waitForRequest((request) => request.url().includes(large));
      await execute(blockOf(page, id));
      await sending;
      await input.fill(`${example}`);
    });
  }
});

test('the reference page cannot send anything to another server', async ({ docs, url, browser, otherHosts }) => {
  const { page, requests } = docs;
  await execute(createPlant(page));
  const files = ['', '/page.css', '/page.js', '/swagger-ui.css', '/swagger-ui-bundle.js'];
  const ofThePage = requests.filter((each) => each.includes('/docs'));
  expect([...new Set(ofThePage)].sort()).toEqual(files.map((file) => `GET ${url}/docs${file}`).sort());
  expect(requests).toContain(`POST ${url}/plants`);
  expect(requests.filter((each) => !each.includes(` ${url}/`))).toEqual([]);

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
