/**
 * Tests `npm start -- --watch` in a copy of the project, in which the tests change files. Its cdk.json names another
 * token issuer, and a permissions boundary; the service must use its own issuer, and no boundary.
 */
import { globSync } from 'node:fs';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { copyProject, ownCache } from '@lambda-service/testing/copy-project';
import { bodyOf, createOperation, newId, otherContent } from '@lambda-service/testing/data';
import { fileFolder, jsonHeaders, run, startLocalService, tools } from '@lambda-service/testing/programs';
import { functionNameOf } from '@lambda-service/testing/stack';
import { until } from '@lambda-service/testing/waiting';
import { afterAll, expect, inject, test } from 'vitest';
import { parse, parseDocument } from 'yaml';
import { fetchToken, readSession } from '../../start/session.ts';

const home = await fileFolder();
const copy = await copyProject(home);
const read = (file: string): Promise<string> => readFile(path.join(copy.folder, file), 'utf8');

const cdkJson = JSON.parse(await read('cdk.json'));
const trusted = { issuer: 'https://issuer.example', audience: 'urn:other', clientIds: 'other', scopeClaim: 'scp' };
const context = { ...cdkJson.context, ...trusted, permissionsBoundary: 'Limit' };
await writeFile(path.join(copy.folder, 'cdk.json'), JSON.stringify({ ...cdkJson, context }));
const data = path.join(home, 'data');
await mkdir(data);
const command = `cd '${copy.folder}' && exec ${[...tools, 'start'].join(' ')} --watch 2>&1`;
const service = await startLocalService(data, ownCache(copy), ['sh', '-c', command]);
afterAll(async () => expect((await service.stop('SIGINT')).code, 'exit code').toBe(0));
/** The service must still accept this token in every test, after each reload. */
const token = await fetchToken(readSession(data));

/** Replaces a file by another, as editors do. `change` gets the old text, or an empty string if there was no file. */
const edit = async (file: string, change: (source: string) => string): Promise<void> => {
  const source = await read(file).catch(() => '');
  const changed = change(source);
  expect(changed, file).not.toBe(source);
  const temporary = path.join(copy.folder, path.dirname(file), '.edited.swp');
  await writeFile(temporary, changed);
  await rename(temporary, path.join(copy.folder, file));
};

/** Changes a file, and waits until what the service has printed since the change matches `expected`. */
const editUntil = async (expected: RegExp, file: string, change: (source: string) => string): Promise<void> => {
  const start = service.output().length;
  await edit(file, change);
  await until(() => expected.test(service.output().slice(start)));
};

const { path: route, file: name, id: operationId } = createOperation;
/** The function of the operation, and a line for its reload. */
const functionId = functionNameOf(operationId);
const reloaded = new RegExp(`^Reloaded ${functionId}`, 'm');

const post = async (body: string, to: string = route, bearer = token): Promise<{ status: number; body: unknown }> => {
  const response = await fetch(service.url + to, { method: 'POST', headers: jsonHeaders(bearer), body });
  return { status: response.status, body: await response.json() };
};

const entry = `functions/${name}.lambda.ts`;
const operation = `functions/${name}.ts`;

test('npm start -- --watch reloads only the function whose code has changed, and keeps the old code while the new code has an error', async () => {
  const id = newId();
  expect(await post(bodyOf(id))).toMatchObject({ status: 200 });
  const other = bodyOf(id, otherContent);
  const { status, body } = await post(other);
  expect(status).toBe(409);
  await editUntil(new RegExp(`^Reloaded ${functionId} \\(\\d+\\.\\d+ s\\)\\.$`, 'm'), entry, (source) =>
    source.replace(Object(body).message, 'a new message'),
  );
  expect(await post(other)).toMatchObject({ status: 409, body: { message: 'a new message' } });

  await editUntil(new RegExp(`${entry}:\\d+:\\d+.*\\nNot reloaded`, 's'), entry, (source) =>
    source.replace("'a new message'", "'a new message"),
  );
  expect(await post(other)).toMatchObject({ status: 409, body: { message: 'a new message' } });

  await editUntil(reloaded, entry, (source) => source.replace("'a new message", "'fixed'"));
  expect(await post(other)).toMatchObject({ status: 409, body: { message: 'fixed' } });
});

test('npm start -- --watch reloads the functions that contain a changed file of a package', async () => {
  const errors = 'packages/runtime/http/errors.ts';
  const original = await read(errors);
  await editUntil(reloaded, errors, (source) =>
    source.replace("'the request body must be JSON", "'changed: the request body must be JSON"),
  );
  const message = expect.stringMatching(/^changed: /);
  expect(await post('nul')).toMatchObject({ status: 400, body: { message } });
  await editUntil(reloaded, errors, () => original);
});

test('npm start -- --watch names the line of the sources that throws while a function is loaded', async () => {
  const original = await read(operation);
  const line = original.split('\n').length;
  await editUntil(
    new RegExp(`: Error: broken\\n.*\\nError: broken\\n +at .*${operation}:${line}:\\d+.*\\nNot reloaded`, 's'),
    operation,
    (source) => `${source}throw new Error('broken');\n`,
  );
  expect(await post(bodyOf())).toMatchObject({ status: 200 });
  await edit(operation, () => original);
});

test('npm start -- --watch prints stack traces with line numbers of the changed sources', async () => {
  const original = await read(operation);
  const failing = `throw new Error('oops')`;
  await editUntil(reloaded, operation, (source) =>
    `// One line more.\n${source}`.replace(new RegExp(`${operationId} = .*?=> \\{`, 's'), `$&\n${failing};`),
  );
  const line = (await read(operation)).split('\n').findIndex((each) => each.includes(failing)) + 1;
  expect(await post(bodyOf())).toMatchObject({ status: 500 });
  await until(() => service.output().includes('oops'));
  expect(service.output()).toMatch(new RegExp(`Error: oops\\n +at .*${operation}:${line}:`));
  const requests = JSON.parse(await (await fetch(`${service.url}/docs/requests.json`)).text());
  const [, bundle] = /"bundle":"([0-9a-f]{64})"/.exec(JSON.stringify(requests.at(-1))) ?? [];
  const { environment } = inject('stack').functions.find(({ name }) => name.startsWith(functionId)) ?? {};
  expect(bundle, 'the hash in the log line').toMatch(/./);
  expect(bundle, 'the hash in the log line').not.toBe(environment?.['BUNDLE_SHA256']);
  await editUntil(reloaded, operation, () => original);
  const [, id = ''] = / 500 \d+ ms (\S+) oops$/m.exec(service.output()) ?? [];
  const { stdout } = await run(process.execPath, [tools[1], 'request', id], { DATA_DIR: data }).ended;
  expect(stdout, 'the command request, after a reload').toContain(`${operation}:${line}:`);
});

test("npm start -- --watch serves a new operation as soon as all its files exist, and issues tokens with the operation's scope", async () => {
  const contract = 'schemas/openapi.yaml';
  const before = await read(contract);
  const document = parseDocument(before);
  const method = createOperation.method.toLowerCase();
  document.setIn(['paths', route, method, 'summary'], 'Add an item, not an echo');
  const { parameters, requestBody, responses } = parse(before).paths[route][method];
  const echo = {
    operationId: 'addEcho',
    security: [{ bearerAuth: ['echoes/add'] }],
    parameters,
    requestBody,
    responses,
  };
  document.setIn(['paths', '/echoes'], document.createNode({ post: echo }));
  await editUntil(
    /the operation addEcho, but the stack has no function.*\nNot reloaded/s,
    contract,
    () => `${document}`,
  );
  expect((await post('{}', '/echoes')).status).toBe(404);
  expect((await post('{}')).status).toBe(400);

  const [stack = ''] = globSync('infra/*-stack.ts', { cwd: copy.folder });
  await edit(stack, (source) =>
    source.replace(
      new RegExp(`const functions = \\{ ${operationId} \\}.*`),
      `const entry = 'add-echo.lambda.ts';
    const ${/environment: \{ TABLE_NAME.*?\}/.exec(source)?.[0].replace(':', ' =')};
    const addEcho = new OperationFunction(this, 'AddEcho', { entry, environment, ...common });
    const functions = { ${operationId}, addEcho };`,
    ),
  );
  const echoEntry = (await read(entry)).replace(`/${name}.js`, '/add-echo.js');
  await editUntil(
    /^Reloaded the stack, which serves .*POST \/echoes/m,
    path.join('functions', 'add-echo.lambda.ts'),
    () => echoEntry,
  );
  expect((await post('{}', '/echoes')).status).toBe(403);
  expect((await post('{}', '/echoes', await fetchToken(readSession(data)))).status).toBe(400);
  expect((await post('{}')).status).toBe(400);
  expect(await (await fetch(`${service.url}/docs`)).text()).toContain('Add an item, not an echo');
});

test('npm start -- --watch says in one line what is wrong in infra/, and that some changes need a restart', async () => {
  const original = await read('packages/cdk/settings.ts');
  await editUntil(
    /^packages\/cdk\/settings\.ts:1: .+\nNot reloaded/m,
    'packages/cdk/settings.ts',
    (source) => `const = 1;\n${source}`,
  );
  expect(service.output()).not.toContain('node:internal');
  await edit('packages/cdk/settings.ts', () => original);

  for (const file of ['package.json', 'packages/tools/start/main.ts'])
    await editUntil(new RegExp(`^Restart to apply what has changed in ${file}\\.\n`, 'm'), file, (text) => `${text}\n`);
  const origin = 'https://shop.example';
  const cdkJson = await read('cdk.json');
  await editUntil(/^cdk\.json is not valid JSON: .+\nNot reloaded/m, 'cdk.json', (text) => `${text}}`);
  await editUntil(/^Reloaded the stack/m, 'cdk.json', () => cdkJson);
  await editUntil(/^Reloaded the stack/m, 'cdk.json', (text) => {
    const { context, ...others } = JSON.parse(text);
    return JSON.stringify({ ...others, context: { ...context, allowOrigins: origin } });
  });
  const { headers } = await fetch(service.url + route, { headers: { origin } });
  expect(headers.get('access-control-allow-origin')).toBe(origin);
});
