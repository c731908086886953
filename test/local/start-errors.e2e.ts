/** What can go wrong with `npm start`, and other stores. */
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import path from 'node:path';
import { DynamoDBClient, ListTablesCommand } from '@aws-sdk/client-dynamodb';
import { describe, expect, onTestFinished } from 'vitest';
import { post, programs, run } from '../kit/local-service.ts';
import { test } from '../kit/local-service-test.ts';
import { anyCredentials, startPlantsStore } from '../kit/plants-store.ts';
import { startServer } from '../kit/servers.ts';
import { startSlowStore } from '../kit/slow-store.ts';
import { until } from '../kit/until.ts';

describe('npm start', () => {
  test('that was killed gives no token, and does not start with damaged data', async ({ at }) => {
    const before = await at.token();
    const stderr = `No local service is running with its data in ${at.folder}. Start it first: npm start; or give its DATA_DIR\n`;
    expect(before).toEqual({ code: 1, stdout: '', stderr });
    const service = await at.start();
    await service.stop('SIGKILL');
    const after = await at.token();
    expect(after).toMatchObject({ code: 1, stdout: '' });
    expect(after.stderr).toContain('Start it: npm start');
    const next = await at.start();
    expect(await post(next.url, '{"id":1,"name":"Moss"}', (await at.token()).stdout), 'status').toBe(200);
    await next.stop();
    await writeFile(path.join(at.folder, 'dynamodb', 'CURRENT'), 'rubbish\n');
    expect(await at.failure()).toContain(`The plants in ${path.join(at.folder, 'dynamodb')} cannot be read`);
  });

  test('that is stopped while it starts prints no error', async ({ at }) => {
    const { child, ended, output } = at.begin();
    await until(() => output().includes('Synthesizing'));
    child.kill('SIGTERM');
    const { code, stderr } = await ended;
    expect(code, 'exit code').toBe(0);
    expect(stderr).not.toMatch(/cannot|error/i);
    expect(await at.list()).toEqual(['dynamodb', 'lock']);
  });

  test('uses the store at AWS_ENDPOINT_URL_DYNAMODB, and makes the table if it is missing', async ({ at }) => {
    const store = await startPlantsStore();
    onTestFinished(store.close);
    const service = await at.start({ AWS_ENDPOINT_URL_DYNAMODB: store.endpoint });
    const { stdout: token } = await at.token();
    expect(await post(service.url, '{"id":1,"name":"Moss"}', token), 'status').toBe(200);
    expect(await at.list()).not.toContain('dynamodb');
    expect(await at.failure({ AWS_ENDPOINT_URL_DYNAMODB: store.endpoint })).toContain('may be using it');
    expect(await post(service.url, '{"id":2,"name":"Moss"}', token), 'status').toBe(200);
    const client = new DynamoDBClient({ ...anyCredentials, endpoint: store.endpoint });
    const { TableNames = [] } = await client.send(new ListTablesCommand());
    expect(TableNames).toEqual([expect.stringMatching(/^Plants/)]);
    client.destroy();
  });

  test('does not load the functions before the table is ready', async ({ at }) => {
    const store = await startSlowStore();
    const starting = at.begin({ AWS_ENDPOINT_URL_DYNAMODB: store.endpoint });
    await until(() => store.described > 4);
    expect(starting.output()).toMatch(/Synthesizing.*\n$/);
    store.status = 'ACTIVE';
    await until(() => starting.output().includes('Ctrl-C'));
  });
});

test('npm run token has --help, and rejects an unknown option by name', async () => {
  const token = (...args: string[]) => run(process.execPath, [programs.token, ...args]).ended;
  expect(await token('--help')).toMatchObject({ code: 0, stdout: expect.stringContaining('--stack <name>') });
  const { code, stdout, stderr } = await token('--stak', 'PlantStore');
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(/unknown option '--stak'.*npm run -s token -- --help/s);
});

describe('npm start says in a sentence what is wrong, and ends with code 1', () => {
  test('for a PORT that is not a number', async ({ at }) => {
    expect(await at.failure({ PORT: 'abc' })).toBe(
      'PORT is "abc", but it must be a number from 0 (any free port) to 65535.',
    );
  });

  test('for an argument, of which it takes none but --help', async () => {
    const start = (...args: string[]) => run(process.execPath, [programs.start, ...args]).ended;
    const help = await start('--help');
    expect(help).toMatchObject({ code: 0, stderr: '' });
    const { code, stderr } = await start('--port', '4000');
    expect({ code, stderr }).toEqual({ code: 1, stderr: `npm start takes no --port.\n${help.stdout}` });
    for (const setting of ['PORT', 'DATA_DIR', 'AWS_ENDPOINT_URL_DYNAMODB']) expect(help.stdout).toContain(setting);
  });

  test('for a port in use', async ({ at }) => {
    const port = await startServer(createServer());
    expect(await at.failure({ PORT: String(port) })).toMatch(`Port ${port} is in use. Stop what uses it, or choose`);
  });

  test('for a data folder that is a file', async ({ at }) => {
    const file = path.join(at.folder, 'file');
    await writeFile(file, '');
    expect(await at.failure({ DATA_DIR: file })).toContain(`The data folder ${file}`);
  });

  test('for a file session.json that is not its own, which it keeps', async ({ at }) => {
    const file = path.join(at.folder, 'session.json');
    await writeFile(file, 'my notes');
    expect(await at.failure()).toBe(
      `${file} is not the local service's. Move it away, or choose another data folder: DATA_DIR=... npm start`,
    );
    expect(await readFile(file, 'utf8')).toBe('my notes');
  });

  test("for a database of the user's, which it keeps", async ({ at }) => {
    const folder = path.join(at.folder, 'dynamodb');
    await mkdir(folder);
    // LevelDB would delete the one and rename the other.
    for (const file of ['000007.log', 'LOG']) await writeFile(path.join(folder, file), 'mine');
    expect(await at.failure()).toBe(
      `${folder} has files that are not the local service's (000007.log). Move that folder away, or choose another data folder: ` +
        'DATA_DIR=... npm start',
    );
    expect(await readdir(at.folder)).toEqual(['dynamodb']);
    expect(await readdir(folder)).toEqual(['000007.log', 'LOG']);
    for (const file of ['000007.log', 'LOG']) expect(await readFile(path.join(folder, file), 'utf8')).toBe('mine');
  });

  test('for a store that does not answer', async ({ at }) => {
    const endpoint = 'http://127.0.0.1:9';
    expect(await at.failure({ AWS_ENDPOINT_URL_DYNAMODB: endpoint })).toContain(
      `The store (${endpoint}) cannot be used`,
    );
  });
});
