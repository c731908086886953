/**
 * Tests in a real browser, with the whole local service: its page at /docs, and the client in pages of other origins.
 */
import { spawnSync } from 'node:child_process';
import { createServer } from 'node:http';
import axe, { type AxeResults } from 'axe-core';
import { build } from 'esbuild';
import { type Browser, chromium, type Locator, type Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { operations as generated } from '../../../functions/generated/contract.ts';
import { errors } from '../../../functions/http/errors.ts';
import { toJson } from '../../../packages/client/json.ts';
import { closeServer, listen } from '../../../packages/emulator/servers.ts';
import { operations } from '../../../test/kit/contract.ts';
import {
  bodyOf,
  type Content,
  content,
  invalidBody,
  itemOf,
  newId,
  responseTo,
  tableKey,
} from '../../../test/kit/example.ts';
import { type LocalService, startLocalService, temporaryFolder } from '../../../test/kit/local-service.ts';
import { type PlantsStore, startPlantsStore } from '../../../test/kit/plants-store.ts';
import { readContract } from '../../start/contract.ts';
import { fetchToken, readSession } from '../../start/session.ts';

const { method, path } = generated.createPlant;

/** The contract's examples of a new plant by name, each with its id. */
const { requestBody } = Object((await readContract()).paths[path]?.[method.toLowerCase()]);
const examples = Object.entries<{ value: Content }>(requestBody.content['application/json'].examples).map(
  ([name, { value }]) => ({ name, id: String(value[tableKey.name]) }),
) as [{ name: string; id: string }];

const desktop = { width: 1280, height: 800 };
const phone = { width: 360, height: 800 };

const cleanUp: (() => unknown)[] = [];
let store: PlantsStore;
let service: LocalService;
let url: string;
let token: string;
/** The origin that `allowOrigins` names. */
let shop: string;
let browser: Browser;
/** All tests share one page, because loading a page takes two seconds. `complaints` are its errors and warnings. */
let page: Page;
const complaints: string[] = [];

beforeAll(async () => {
  const { folder, remove } = await temporaryFolder();
  cleanUp.push(remove);
  store = await startPlantsStore();
  cleanUp.push(store.close);
  shop = await servePage();
  const CDK_CONTEXT_JSON = JSON.stringify({ allowOrigins: shop });
  service = await startLocalService(folder, { AWS_ENDPOINT_URL_DYNAMODB: store.endpoint, CDK_CONTEXT_JSON });
  cleanUp.push(() => service.stop());
  url = service.url;
  token = await fetchToken(readSession(folder));
  // The browser must reach no other machine, so give it a proxy at whose address nothing listens.
  browser = await startChromium('http://127.0.0.1:1');
  cleanUp.push(() => browser.close());
  page = await browser.newPage({ viewport: desktop });
  // Turn off Playwright's time-outs, which a busy machine may exceed. The time limit of each test still applies.
  page.setDefaultTimeout(0);
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
  });
  page.on('pageerror', ({ message }) => complaints.push(message));
  await page.goto(`${url}/docs`);
  await page.locator('.execute').last().waitFor();
});
afterEach(async () => {
  await page.setViewportSize(desktop);
  await page.emulateMedia({ colorScheme: 'light' });
  // Select the example by its name: after a test has typed a body, the first option is that body, not an example.
  await createPlant().locator(requestExamples).selectOption(examples[0].name);
  for (const { id } of operations) await clearResponse(blockOf(id));
});
afterAll(async () => {
  for (const undo of cleanUp.reverse()) await undo();
});

/**
 * Starts Chromium, and waits as long as the start takes. Runs the program that the environment variable CHROMIUM names
 * or, if it is unset or empty, the first `chromium` in PATH. @throws Error if no such program is found
 */
const startChromium = async (proxy: string): Promise<Browser> => {
  const found = spawnSync('sh', ['-c', 'command -v "$0"', process.env['CHROMIUM'] || 'chromium'], { encoding: 'utf8' });
  const executablePath = found.stdout.trim();
  if (executablePath === '') {
    throw new Error(
      'No chromium is on PATH. Install it (Debian: apt-get install chromium), or set CHROMIUM to its path.',
    );
  }
  return chromium.launch({ executablePath, proxy: { server: proxy, bypass: '127.0.0.1' }, timeout: 0 });
};

/** Serves an empty page, and the client as /client.js. @returns the page's origin */
const servePage = async (): Promise<string> => {
  const { outputFiles } = await build({
    ...{ entryPoints: ['packages/client/plant-store-client.ts'], bundle: true, write: false },
    ...{ format: 'esm', platform: 'neutral', target: 'es2022' },
  });
  const server = createServer((request, response) => {
    const isScript = request.url === '/client.js';
    response.setHeader('content-type', isScript ? 'text/javascript' : 'text/html');
    response.end(isScript ? outputFiles[0]?.contents : '<!doctype html>');
  });
  cleanUp.push(() => closeServer(server));
  return `http://127.0.0.1:${await listen(server, 0)}`;
};

const requestExamples = '.opblock-section-request-body .examples-select select';

/** Returns the part of the page that shows an operation. */
const blockOf = (operationId: string): Locator => page.locator(`.opblock[id$="-${operationId}"]`);
const createPlant = (): Locator => blockOf('createPlant');

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

/** Returns the response to a plant as the page shows it. Swagger UI rounds numbers. */
const shownFor = (id: string, fields = content): unknown => JSON.parse(toJson(responseTo(id, fields)) ?? '');

test('the reference page shows every operation and that it is on this machine only, and one click adds a plant', async () => {
  expect(await page.title()).toBe('Plant Store API');
  expect(await page.locator('.notice').innerText()).toContain('on your machine only');
  const shown = await page.locator('.opblock-summary').allInnerTexts();
  expect(shown.map((text) => text.split(/\s+/, 2).join(' '))).toEqual(operations.map(({ routeKey }) => routeKey));
  const [{ id }] = examples;
  expect(await execute(createPlant())).toMatchObject({ status: 200, body: shownFor(id) });
  expect(await store.read(id)).toEqual(itemOf(id));
  expect(complaints).toEqual([]);
});

test('the reference page sends ids exactly, whether typed or from an example, and shows the error of an invalid plant', async () => {
  for (const { name, id } of examples) {
    await createPlant().locator(requestExamples).selectOption(name);
    // Several examples may have the same id.
    expect([200, 409]).toContain((await execute(createPlant())).status);
    expect(await store.read(id)).toBeDefined();
  }
  const id = newId();
  expect(await execute(createPlant(), bodyOf(id))).toMatchObject({ status: 200, body: shownFor(id) });
  expect(await store.read(id)).toEqual(itemOf(id));

  const error = { error: errors.notValid.error, message: `${tableKey.name} is required` };
  expect(await execute(createPlant(), invalidBody)).toEqual({ status: 400, body: error });
});

/** Returns the critical and serious accessibility problems that axe finds: for each, axe's rule and the elements. */
const faultsOf = async (): Promise<[rule: string, elements: string[]][]> => {
  // Wait until a transition between light and dark mode has ended: axe would otherwise measure colours in the middle.
  await page.evaluate(
    'Promise.allSettled(document.getAnimations().map((each) => each instanceof CSSTransition && each.finished))',
  );
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate<AxeResults>('axe.run()');
  const serious = violations.filter(({ impact }) => impact === 'critical' || impact === 'serious');
  return serious.map(({ id, nodes }) => [id, nodes.map(({ target }) => target.join(' '))]);
};

test.each([
  ['a desktop in light mode', desktop, 'light', 'rgba(0, 0, 0, 0)'],
  ['a phone in dark mode', phone, 'dark', 'rgb(28, 32, 34)'],
] as const)(
  'the reference page, on %s, shows the response, fits the width, and has no serious accessibility problem',
  async (_, viewport, colorScheme, colour) => {
    await page.setViewportSize(viewport);
    await page.emulateMedia({ colorScheme });
    const background = () => page.evaluate<string>('getComputedStyle(document.documentElement).backgroundColor');
    await expect.poll(background).toBe(colour);
    expect(await faultsOf(), 'before a request').toEqual([]);
    await execute(createPlant());
    await expect
      .poll(async () => {
        const { y = -1, height = 0 } = (await createPlant().locator('.live-responses-table').boundingBox()) ?? {};
        return y >= 0 && y + height <= viewport.height;
      })
      .toBe(true);
    expect(await page.evaluate('document.documentElement.scrollWidth'), 'width').toBe(viewport.width);
    const unfold = page.locator('.fold');
    for (const button of await unfold.all()) await button.click();
    expect(await faultsOf(), 'after a request, with all texts').toEqual([]);
    for (const button of await unfold.all()) await button.click();
  },
);

test.each(operations)(
  'the reference page, for $routeKey, gets a documented status for the example, and shows all statuses only after a click',
  async ({ id, responses }) => {
    const { status } = await execute(blockOf(id));
    expect(responses.map((each) => each.status)).toContain(status);
    expect([400, 401, 403, 415], 'statuses of invalid requests').not.toContain(status);
    const shown = blockOf(id).locator('.responses-table:not(.live-responses-table) .response:visible');
    expect(await shown.count(), 'statuses').toBe(1);
    await blockOf(id).getByRole('button', { name: 'All statuses' }).click();
    expect(await shown.count(), 'statuses').toBe(responses.length);
  },
);

test('a web page can call the service, and read its errors and headers, only if allowOrigins has the origin of the page', async () => {
  const id = newId();
  const plant = `{ ...${JSON.stringify(content)}, ['${tableKey.name}']: ${tableKey.type === 'N' ? `${id}n` : `'${id}'`} }`;
  /** Opens a page of `origin`, and adds the plant from there. @returns what the page can read of the response */
  const addPlant = async (origin: string, bearer = token): Promise<unknown> => {
    const other = await browser.newPage();
    other.setDefaultTimeout(0);
    await other.goto(origin);
    const result = await other.evaluate(`(async () => {
      const { createPlantStoreClient } = await import('/client.js');
      const { createPlant } = createPlantStoreClient(${JSON.stringify({ baseUrl: url, token: bearer })});
      const result = await createPlant(${plant});
      const { status, error, requestId, headers } = result;
      return { status, error, hasId: requestId !== undefined, isRepeated: headers?.get('idempotent-replayed') };
    })()`);
    await other.close();
    return result;
  };

  expect(await addPlant(shop)).toEqual({ status: 200, hasId: true, isRepeated: null });
  expect(await addPlant(shop)).toEqual({ status: 200, hasId: true, isRepeated: 'true' });
  expect(await addPlant(shop, 'a.b.c')).toEqual({ status: 403, error: 'token refused', hasId: true });
  expect(service.output()).toContain(`\nOPTIONS ${path} 204`);

  const before = service.output().length;
  expect(await addPlant(await servePage())).toEqual({ error: 'no answer', hasId: false });
  expect(service.output().slice(before)).not.toContain(`${method} `);
});
