/**
 * Tests in a real browser, with the whole local service: its page at /docs, and the client in pages of other origins.
 */
import { spawnSync } from 'node:child_process';
import { createServer, type Server } from 'node:http';
import { parseJson } from '@lambda-service/client';
import { errors } from '@lambda-service/runtime/http';
import {
  bodyOf,
  type Content,
  content,
  contract,
  createOperation,
  invalidBody,
  itemOf,
  newId,
  operations,
  responseTo,
  tableKey,
} from '@lambda-service/testing/data';
import { fileFolder, run, startLocalService } from '@lambda-service/testing/programs';
import { startItemStore } from '@lambda-service/testing/store';
import { until } from '@lambda-service/testing/waiting';
import axe, { type AxeResults } from 'axe-core';
import { build } from 'esbuild';
import { closeServer, listen } from 'http-api-emulator/servers';
import type { Contract } from 'openapi-contract/document';
import { readContract } from 'openapi-contract/page';
import { render } from 'openapi-contract/page/render';
import { type Browser, chromium, type Locator, type Route } from 'playwright-core';
import { afterAll, afterEach, beforeEach, expect, test } from 'vitest';
import { fetchToken, readSession } from '../../start/session.ts';
import { clientName, contractFile } from '../../start/settings.ts';
import { tokenCommand } from '../../start/token-command.ts';

const { id: operationId, method, path } = createOperation;
const clientFile = `client/${clientName()}.ts`;

/** The contract's examples of a new item by name, each with its id. */
const { requestBody } = Object((await readContract(contractFile)).paths[path]?.[method.toLowerCase()]);
const examples = Object.entries<{ value: Content }>(requestBody.content['application/json'].examples).map(
  ([name, { value }]) => ({ name, id: String(value[tableKey.name]) }),
) as [{ name: string; id: string }];

const desktop = { width: 1280, height: 800 };
/** A phone that shows its keyboard, so that a response below the request is out of view until the page scrolls. */
const phone = { width: 360, height: 340 };

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

const servers: Server[] = [];
afterAll(async () => void (await Promise.all(servers.map(closeServer))));

/** Serves an empty page, and the client as /client.js. @returns the page's origin */
const servePage = async (): Promise<string> => {
  const { outputFiles } = await build({
    ...{ entryPoints: [clientFile], bundle: true, write: false },
    ...{ format: 'esm', platform: 'neutral', target: 'es2022' },
  });
  const server = createServer((request, response) => {
    const isScript = request.url === '/client.js';
    response.setHeader('content-type', isScript ? 'text/javascript' : 'text/html');
    response.end(isScript ? outputFiles[0]?.contents : '<!doctype html>');
  });
  servers.push(server);
  return `http://127.0.0.1:${await listen(server, 0)}`;
};

const folder = await fileFolder();
const store = await startItemStore();
afterAll(store.close);
/** The origin that `allowOrigins` names. */
const shop = await servePage();
const CDK_CONTEXT_JSON = JSON.stringify({ allowOrigins: shop });
const service = await startLocalService(folder, { AWS_ENDPOINT_URL_DYNAMODB: store.endpoint, CDK_CONTEXT_JSON });
afterAll(async () => void (await service.stop()));
const { url } = service;
const token = await fetchToken(readSession(folder));
// The browser must reach no other machine, so give it a proxy at whose address nothing listens.
const browser = await startChromium('http://127.0.0.1:1');
afterAll(() => browser.close());
const page = await browser.newPage({ viewport: desktop });
// Turn off Playwright's time-outs, which a busy machine may exceed. The time limit of each test still applies.
page.setDefaultTimeout(0);
/** The errors and warnings of `page`. */
const complaints: string[] = [];
page.on('console', (message) => {
  if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
});
page.on('pageerror', ({ message }) => complaints.push(message));
beforeEach(async () => {
  await page.goto(`${url}/docs`);
  await openAll();
});
afterEach(async () => {
  await page.unrouteAll();
  await page.setViewportSize(desktop);
  await page.emulateMedia({ colorScheme: 'light', media: 'screen' });
});

/** Returns the part of the page that shows an operation. */
const blockOf = (id: string): Locator => page.locator('.operation', { has: page.locator(`#${id}`) });
const creating = (): Locator => blockOf(operationId);

/** Opens the reference page of the contract with other paths. */
const openPageOf = async (paths: Contract['paths']): Promise<void> => {
  const body = render(
    { ...(await readContract(contractFile)), paths },
    { token, tokenCommand: tokenCommand(), client: clientName() },
  );
  await page.route(`${url}/docs`, (route) => route.fulfill({ body, contentType: 'text/html' }));
  await page.goto(`${url}/docs`);
};

/** Opens the operations, which are closed if there are several. */
const openAll = () => page.evaluate(`for (const each of document.querySelectorAll('.operation')) each.open = true`);

const sendButton = (block: Locator): Locator => block.getByRole('button', { name: 'Send' });

/** Sends a request with `body`, or else with what the page has filled in. @returns the response that the page shows */
const execute = async (block: Locator, body?: string) => {
  if (body !== undefined) await block.getByLabel('Body').fill(body);
  await sendButton(block).click();
  return responseIn(block);
};

/** Waits for a response. @returns its status in words, and its body */
const responseIn = async (block: Locator): Promise<{ status: string; text: string }> => {
  const status = block.locator('output');
  await expect.poll(() => status.innerText()).not.toMatch(/^(Nothing|Sending)/);
  return { status: await status.innerText(), text: (await block.locator('.answer').textContent()) ?? '' };
};

test('the reference page shows every operation and that it is on this machine only, and one click adds an item, and a key repeats that', async () => {
  expect(await page.title()).toBe(`${contract.info.title} API`);
  expect(await page.locator('header').innerText()).toContain('on your machine only');
  const shown = await page.locator('.operation > summary').allInnerTexts();
  expect(shown.map((text) => text.trim().split(/\s+/, 2).join(' '))).toEqual(
    operations.map(({ routeKey }) => routeKey),
  );
  const [{ id }] = examples;
  const { status, text } = await execute(creating());
  expect(status).toMatch(/^200 OK: .*$/);
  expect(parseJson(text)).toEqual(responseTo(id, content));
  expect(await store.read(id)).toEqual(itemOf(id));
  for (const key of ['Control+Enter', 'Meta+Enter']) {
    const request = page.waitForRequest(url + path);
    await creating().getByLabel('Body').press(key);
    await request;
    expect((await responseIn(creating())).status, key).toMatch(/^200 OK: .*\nIdempotent-Replayed: true$/);
  }
  expect(complaints).toEqual([]);
});

test('the reference page sends ids exactly, whether typed or from an example, and shows the error of an invalid or empty body', async () => {
  for (const { name, id } of examples) {
    await creating().getByLabel('Example').selectOption(name);
    // Several examples may have the same id.
    expect((await execute(creating())).status).toMatch(/^(200|409) /);
    expect(await store.read(id)).toBeDefined();
  }
  const id = newId();
  expect((await execute(creating(), bodyOf(id))).status).toMatch(/^200 /);
  expect(await store.read(id)).toEqual(itemOf(id));

  const { status, text } = await execute(creating(), invalidBody);
  expect(status).toMatch(/^400 Bad Request: The body is JSON, but not a /);
  expect(JSON.parse(text)).toEqual({ error: errors.notValid.error, message: `${tableKey.name} is required` });
  expect((await execute(creating(), '')).text).toContain(errors.notJson.message);
});

test('the reference page rounds no number of a response, and says so if a response has no body or no documented status', async () => {
  const answer = (status: number, body: string) => page.route(url + path, (route) => route.fulfill({ status, body }));
  await answer(200, '[9007199254740993,1e400,-0]');
  expect((await execute(creating())).text).toBe('[\n  9007199254740993,\n  1e400,\n  -0\n]');
  await answer(418, '');
  const { status, text } = await execute(creating());
  expect([status, text]).toEqual([expect.stringMatching(/^418 .*not in the contract/), 'The response has no body.']);
});

test('the reference page gets a new token after a 403, but not for a typed one, and says why there is no response', async () => {
  const field = page.getByLabel('Access token');
  const body = creating().getByLabel('Body');
  const old = await field.inputValue();
  const refuseOnce = () =>
    page.route(
      url + path,
      async (route) => {
        // Type while the request is sent: the request with the new token must be the same otherwise.
        await body.fill('');
        await route.fulfill({ status: 403 });
      },
      { times: 1 },
    );
  await page.route(`${url}/docs/token.json`, (route) => route.fulfill({ status: 500, body: 'Error' }), { times: 1 });
  await refuseOnce();
  expect((await execute(creating())).status).toMatch(/^403 Forbidden: /);
  await refuseOnce();
  const id = newId();
  expect((await execute(creating(), bodyOf(id))).status).toMatch(/^200 /);
  expect(await store.read(id)).toEqual(itemOf(id));
  expect(await field.inputValue()).not.toBe(old);
  await field.fill('a.b.c');
  expect((await execute(creating())).status).toMatch(/^403 Forbidden: /);
  expect(await field.inputValue()).toBe('a.b.c');
  await field.fill('\u{1F331}');
  expect((await execute(creating())).status).toMatch(/^No response: .*fetch/);
  await page.route('**', (route) => route.abort());
  expect((await execute(creating())).status).toContain('the service is down');
});

test.each<[string, (route: Route) => Promise<void>]>([
  ['is answered', (route) => route.fulfill({ status: 418, body: 'late' })],
  ['fails', (route) => route.abort()],
])('the reference page shows the response to the latest request, even if an earlier one %s later', async (_, end) => {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  await page.route(url + path, (route) => released.then(() => end(route)), { times: 1 });
  const earlier = page.waitForRequest(url + path);
  await sendButton(creating()).click();
  const id = newId();
  const latest = await execute(creating(), bodyOf(id));
  expect(parseJson(latest.text)).toEqual(responseTo(id, content));
  release();
  await (await earlier).response();
  // By the time of these responses, the page has dealt with the end of the earlier request.
  for (const _ of [1, 2]) await page.evaluate(`fetch('/docs/page.js').then((response) => response.text())`);
  expect(await responseIn(creating())).toEqual(latest);
});

test('the reference page sends parameters of any name, but refuses values of a path parameter that lead to another route', async () => {
  const parameters = [
    { name: 'dataset', in: 'path', required: true, example: '..' },
    { name: 'querySelector', in: 'query', example: 'a' },
  ];
  await openPageOf({ '/things/{dataset}': { get: { operationId: 'getThing', parameters, responses: {} } } });
  const block = blockOf('getThing');
  const curl = block.locator('[data-language="curl"]');
  for (const value of ['..', '.', '']) {
    await block.getByLabel('dataset').fill(value);
    await sendButton(block).click();
    expect(await block.locator('output').innerText(), value).toBe('Nothing is sent yet.');
    expect(await curl.textContent(), value).toBe('# A path parameter must not be empty, . or ..');
  }
  for (const value of ['...', '.a', '1']) {
    await block.getByLabel('dataset').fill(value);
    const address = `${url}/things/${value}?querySelector=a`;
    expect(await curl.textContent()).toContain(`'${address}'`);
    const request = page.waitForRequest(address);
    await sendButton(block).click();
    await request;
  }
  expect((await responseIn(block)).status).toMatch(/^404 /);
});

test('the reference page copies a curl command and TypeScript that send what is typed', async () => {
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  const snippetFor = async (id: string, language: string): Promise<string> => {
    await creating().getByLabel('Body').fill(bodyOf(id));
    await creating()
      .getByRole('button', { name: `Copy ${language}` })
      .click();
    await creating().getByRole('button', { name: 'Copied' }).waitFor();
    return page.evaluate('navigator.clipboard.readText()');
  };
  const ids = [newId(), newId()] as const;
  const { stdout } = await run('sh', ['-c', await snippetFor(ids[0], 'curl')]).ended;
  expect(stdout).toMatch(/^HTTP\/1.1 200 /);
  const code = await snippetFor(ids[1], 'TypeScript');
  const result = await run(process.execPath, ['--input-type=module', '-e', code], { ACCESS_TOKEN: token }).ended;
  expect(result.stdout).toContain('status: 200');
  for (const id of ids) expect(await store.read(id)).toEqual(itemOf(id));
});

/** Returns what is in focus: the name of its element and its text. */
const focused = () => page.evaluate<string>('document.activeElement.tagName + " " + document.activeElement.innerText');

/** Presses the Tab key until a button is in focus. @returns how often */
const tabTo = async (name: string): Promise<number> => {
  for (let presses = 1; presses < 30; presses++) {
    await page.keyboard.press('Tab');
    if ((await focused()) === `BUTTON ${name}`) return presses;
  }
  throw new Error(`No button ${name} within 30 steps`);
};

test('the reference page, if there are several operations, has an index, closes them, and can be used with the keyboard alone', async () => {
  const { [path]: item = {} } = (await readContract(contractFile)).paths;
  const get = { ...Object(item[method.toLowerCase()]), operationId: 'second', requestBody: undefined };
  const parameter = { name: 'a', in: 'query', example: 'b&c' };
  await openPageOf({ [path]: { ...item, get: { ...get, parameters: [parameter] } } });
  expect(await page.locator('.operation[open]').count()).toBe(0);
  expect(await faultsOf(), 'of the index').toEqual([]);
  await page.getByRole('link', { name: `GET ${path}` }).focus();
  await page.keyboard.press('Enter');
  await expect.poll(focused).toMatch(/^SUMMARY .*GET/);
  expect(await page.locator('.operation[open]').count()).toBe(1);
  expect(await tabTo('Send')).toBe(2);
  const request = page.waitForRequest((each) => each.method() === 'GET' && each.url().includes('?'));
  await page.keyboard.press('Enter');
  expect((await request).url()).toBe(`${url}${path}?a=b%26c`);
  expect((await responseIn(blockOf('second'))).status).toMatch(/^404 /);
  expect(await focused()).toBe('BUTTON Send');
  await page.goto('about:blank');
  await page.goto(`${url}/docs#second`);
  expect(await page.locator('.operation[open]').count()).toBe(1);
});

/** Returns the accessibility problems that axe finds, the minor ones included: for each, axe's rule and the elements. */
const faultsOf = async (): Promise<[rule: string, elements: string[]][]> => {
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate<AxeResults>('axe.run()');
  return violations.map(({ id, nodes }) => [id, nodes.map(({ target }) => target.join(' '))]);
};

test.each([
  ['a desktop', desktop, 'light', 'rgb(255, 255, 255)'],
  ['a phone in dark mode', phone, 'dark', 'rgb(22, 25, 29)'],
] as const)(
  'the reference page, on %s, shows the response in view, beside the request if wide, and has no accessibility problem',
  async (_, viewport, colorScheme, colour) => {
    await page.setViewportSize(viewport);
    await page.emulateMedia({ colorScheme });
    expect(await page.evaluate('getComputedStyle(document.documentElement).backgroundColor')).toBe(colour);
    expect(await faultsOf(), 'before a request').toEqual([]);
    await execute(creating());
    const [request, response] = await Promise.all([
      creating().locator('.sent').boundingBox(),
      creating().locator('.answer').boundingBox(),
    ]);
    if (request === null || response === null) throw new Error('The request or the response is not visible');
    expect(response.y >= 0 && response.y + response.height <= viewport.height, 'in view').toBe(true);
    expect(response.x > request.x + request.width, 'beside').toBe(viewport === desktop);
    await page.evaluate(`for (const each of document.querySelectorAll('details')) each.open = true`);
    expect(await page.evaluate('document.documentElement.scrollWidth'), 'width').toBe(viewport.width);
    expect(await faultsOf(), 'after a request, with everything open').toEqual([]);
  },
);

test.each([desktop, { width: 390, height: 844 }])(
  'the reference page, on a first screen of $width x $height, has the button, no empty box, and each example as high as its text',
  async (viewport) => {
    await page.setViewportSize(viewport);
    const { [path]: { [method.toLowerCase()]: operation } = {} } = (await readContract(contractFile)).paths;
    await openPageOf({ [path]: { [method.toLowerCase()]: operation } } as Contract['paths']);
    const { y = 0, height = 0 } = (await sendButton(creating()).boundingBox()) ?? {};
    expect(y + height).toBeLessThan(viewport.height);
    expect(await creating().locator('pre:visible').count()).toBe(0);
    for (const { name } of examples) {
      await creating().getByLabel('Example').selectOption(name);
      const [box, text] = await page.evaluate<[number, number]>(`(() => {
        const box = document.querySelector('.sent');
        const { clientHeight } = box;
        box.style.height = 0;
        const { scrollHeight } = box;
        box.style.height = '';
        return [clientHeight, scrollHeight];
      })()`);
      expect(box, name).toBe(text);
    }
  },
);

test('the reference page prints what is folded, and not the token', async () => {
  const example = creating().locator('.status pre').first();
  expect(await example.isVisible()).toBe(false);
  await page.emulateMedia({ media: 'print', colorScheme: 'dark' });
  expect(await example.isVisible()).toBe(true);
  expect(await page.getByLabel('Access token').isVisible()).toBe(false);
});

test.each(operations)('the page lists the statuses of $routeKey, and gets one of them', async ({ id, responses }) => {
  const [status] = (await execute(blockOf(id))).status.split(' ');
  expect(responses.map((each) => each.status)).toContain(Number(status));
  expect(['400', '401', '403', '415'], 'statuses of invalid requests').not.toContain(status);
  expect(await blockOf(id).locator('.status:visible').count(), 'statuses').toBe(responses.length);
});

test('a web page can call the service, and read its errors and headers, only if allowOrigins has the origin of the page', async () => {
  const id = newId();
  const item = `{ ...${JSON.stringify(content)}, ['${tableKey.name}']: ${tableKey.type === 'N' ? `${id}n` : `'${id}'`} }`;
  /** Opens a page of `origin`, and adds the item from there. @returns what the page can read of the response */
  const addItem = async (origin: string, bearer = token): Promise<unknown> => {
    const other = await browser.newPage();
    other.setDefaultTimeout(0);
    await other.goto(origin);
    const result = await other.evaluate(`(async () => {
      const [makeClient] = Object.values(await import('/client.js'));
      const { ${operationId}: create } = makeClient(${JSON.stringify({ baseUrl: url, token: bearer })});
      const result = await create(${item});
      const { status, error, requestId, headers } = result;
      return { status, error, hasId: requestId !== undefined, isRepeated: headers?.get('idempotent-replayed') };
    })()`);
    await other.close();
    return result;
  };

  /** Waits until the log has all lines so far, which can come after their responses. @returns the log's lines */
  const logged = async (): Promise<string> => {
    const marker = `/${newId()}`;
    await fetch(url + marker);
    await until(() => service.output().includes(` GET ${marker} `));
    return service.output();
  };

  expect(await addItem(shop)).toEqual({ status: 200, hasId: true, isRepeated: null });
  expect(await addItem(shop)).toEqual({ status: 200, hasId: true, isRepeated: 'true' });
  expect(await addItem(shop, 'a.b.c')).toEqual({ status: 403, error: 'token refused', hasId: true });
  const before = await logged();
  expect(before).toMatch(new RegExp(` OPTIONS ${path} +204 `));

  expect(await addItem(await servePage())).toEqual({ error: 'no answer', hasId: false });
  expect((await logged()).slice(before.length)).not.toContain(`${method} `);
});
