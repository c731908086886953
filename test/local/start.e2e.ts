/** What a newcomer does with `npm start` and `npm run -s token`. */
import { once } from 'node:events';
import { chmod, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import path from 'node:path';
import { describe, expect, onTestFinished } from 'vitest';
import { isRunning, post, programs } from '../kit/local-service.ts';
import { test } from '../kit/local-service-test.ts';
import { until } from '../kit/until.ts';

const calm = expect.not.stringMatching(/error|warning/i);

describe('npm start', () => {
  test('adds a plant with the line that it prints, ends on SIGTERM, and keeps the plant for the next start', async ({
    at,
  }) => {
    const first = await at.start({}, ['npm', 'start']);
    expect(await at.paste(first)).toBe('200 {"name":"Swiss cheese plant","tag":"climber"}\n');
    expect(first.output()).toContain(`${first.url}/docs\n`);
    expect((await fetch(`${first.url}/docs`)).status, 'status of the page').toBe(200);
    await first.stop('SIGTERM');
    expect(first.output()).toContain('Stopping');
    expect(await at.list()).toEqual(['curl', 'dynamodb', 'lock']);
    await expect(fetch(first.url)).rejects.toThrow();

    const second = await at.start({}, ['npm', 'start']);
    expect(await at.paste(second)).toMatch(/^200 /);
    expect(await at.paste(second, (line) => line.replace('climber', 'creeper'))).toMatch(/^409 .*40901/);
  });

  test('prints one line per request, gives out tokens, locks its data folder, and ends on SIGINT', async ({ at }) => {
    const service = await at.start();
    const { code, stdout: token, stderr } = await at.token();
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(token).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+\n$/);
    expect(await at.failure()).toContain('Another local service may be using it');
    expect(await post(service.url, '{"id":1,"name":"Moss"}', token), 'status').toBe(200);
    expect(await post(service.url, '{}', 'a.b.c'), 'status').toBe(403);
    await fetch(`${service.url}/other`);
    await until(() => service.output().includes('/other'));
    const [, lines = ''] = service.output().split('One line per request:\n');
    expect(lines.trimEnd().split('\n')).toEqual([
      expect.stringMatching(
        /^POST \/plants 200 \d+ ms \S+ \| Authorizer INFO {"outcome":"allowed"} \| CreatePlant INFO {"outcome":"created"}$/,
      ),
      expect.stringMatching(
        /^POST \/plants 403 \d+ ms \S+ \| Authorizer INFO {"outcome":"refused","reason":"malformed"}$/,
      ),
      expect.stringMatching(/^GET \/other 404 \d+ ms \S+$/),
    ]);

    // A browser keeps connections open on which it asks nothing.
    const idle = connect(Number(new URL(service.url).port), '127.0.0.1').on('error', () => {});
    await once(idle, 'connect');
    // A Ctrl-C arrives twice under npm, which hands it on.
    void service.stop('SIGINT');
    const ended = await service.stop('SIGINT');
    expect(ended.code, 'exit code').toBe(0);
    expect(ended.stderr).not.toMatch(/error|warning/i);
    expect(await at.list()).toEqual(['dynamodb', 'lock']);
    idle.destroy();
  });

  test('lets no other user read its data or change what it runs, whatever the umask; ends on SIGHUP', async ({
    at,
  }) => {
    const DATA_DIR = path.join(at.folder, 'plants', 'of', 'mine');
    const service = await at.start({ DATA_DIR }, ['sh', '-c', `umask 000; exec node ${programs.start}`]);
    const [temporary = ''] = (await at.list()).filter((name) => name.startsWith('plant-store-'));
    const folders = [
      'plants',
      'plants/of',
      'plants/of/mine',
      'plants/of/mine/dynamodb',
      'plants/of/mine/lock',
      temporary,
    ];
    const mode = async (name: string) => (await stat(path.join(at.folder, name))).mode & 0o777;
    expect(await Promise.all(folders.map(mode))).toEqual(folders.map(() => 0o700));
    // It holds the client's secret.
    expect(await mode('plants/of/mine/session.json'), 'mode').toBe(0o600);
    expect(await service.stop('SIGHUP')).toMatchObject({ code: 0, stderr: calm });
    expect(await at.list()).toEqual(['plants']);
    expect((await readdir(DATA_DIR)).sort()).toEqual(['dynamodb', 'lock']);
  });

  test('keeps the mode and the files of a data folder that is not its own', async ({ at }) => {
    await chmod(at.folder, 0o755);
    const mine = ['assembly/index.js', 'bundles/notes.txt', 'plants.json'];
    for (const name of mine) {
      await mkdir(path.dirname(path.join(at.folder, name)), { recursive: true });
      await writeFile(path.join(at.folder, name), 'mine');
    }
    const service = await at.start();
    await rm(path.join(at.folder, 'session.json'));
    await writeFile(path.join(at.folder, 'session.json'), 'mine');
    expect(await service.stop()).toMatchObject({ code: 0 });
    expect(await at.list()).toEqual(['assembly', 'bundles', 'dynamodb', 'lock', 'plants.json', 'session.json']);
    for (const name of [...mine, 'session.json']) {
      expect(await readFile(path.join(at.folder, name), 'utf8')).toBe('mine');
    }
    expect((await stat(at.folder)).mode & 0o777, 'mode').toBe(0o755);
  });

  test('ends without a trace when its terminal is closed', async ({ at }) => {
    const { child, output } = at.begin({}, ['npm', 'start']);
    await until(() => output().includes('Ctrl-C'));
    expect(await at.list()).toContain('session.json');
    child.stdout.destroy();
    child.stderr.destroy();
    // The system tells the whole group, and so the guard of it.
    const group = -(child.pid ?? 0);
    onTestFinished(() => void (isRunning(group) && process.kill(group, 'SIGKILL')));
    process.kill(group, 'SIGHUP');
    await until(() => !isRunning(group));
    expect(await at.list()).toEqual(['dynamodb', 'lock']);
  });

  test('ends with code 1 if nobody reads what it prints', async ({ at }) => {
    const { child, ended, output } = at.begin();
    await until(() => output().includes('Ctrl-C'));
    child.stdout.destroy();
    const url = /at (http:\S+)/.exec(output())?.[1] ?? '';
    let isOver = false;
    void ended.then(() => (isOver = true));
    // A line may still find a reader: a process that another test is forking holds our end of the pipe for a moment.
    while (!isOver) await fetch(url).catch(() => undefined);
    expect(await ended).toMatchObject({ code: 1, stderr: calm });
    expect(await at.list()).toEqual(['dynamodb', 'lock']);
  });
});
