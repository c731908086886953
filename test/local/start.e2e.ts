/** `npm start` as a newcomer uses it, and how it stops. */
import { once } from 'node:events';
import { chmod, mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import path from 'node:path';
import { describe, expect, onTestFinished } from 'vitest';
import { takeDataFolder } from '../../local/data-folder.ts';
import { isRunning, post, programs } from '../kit/local-service.ts';
import { test } from '../kit/local-service-test.ts';
import { startSlowStore } from '../kit/slow-store.ts';
import { until } from '../kit/until.ts';

const calm = expect.not.stringMatching(/error|warning/i);

describe('npm start', () => {
  test('stores a plant with the command it prints, stops on SIGINT, keeps the plant, and stops if its terminal closes', async ({
    home,
  }) => {
    const first = await home.start();
    expect(first.output()).toContain(`${first.url}/docs\n`);
    expect(await home.paste(first)).toBe('200 {"name":"Swiss cheese plant","tag":"climber"}\n');
    expect(await post(first.url, '{}', 'a.b.c'), 'status').toBe(403);
    await fetch(`${first.url}/other`);
    await until(() => first.output().includes('/other'));
    const [, lines = ''] = first.output().split('One line per request:\n');
    expect(lines.trimEnd().split('\n')).toEqual([
      expect.stringMatching(
        /^POST \/plants 200 \d+ ms \S+ \| Authorizer INFO {"outcome":"allowed"} \| CreatePlant INFO {"outcome":"created"}$/,
      ),
      expect.stringMatching(
        /^POST \/plants 403 \d+ ms \S+ \| Authorizer INFO {"outcome":"refused","reason":"malformed"}$/,
      ),
      expect.stringMatching(/^GET \/other 404 \d+ ms \S+$/),
    ]);

    // A browser keeps idle connections open.
    const idle = connect(Number(new URL(first.url).port), '127.0.0.1').on('error', () => {});
    await once(idle, 'connect');
    // With npm, a Ctrl-C arrives twice: from the terminal, and forwarded by npm.
    void first.stop('SIGINT');
    expect(await first.stop('SIGINT')).toMatchObject({ code: 0, stderr: calm });
    expect(first.output()).toContain('Stopping');
    expect(await home.list()).toEqual(['curl', 'dynamodb', 'lock']);
    await expect(fetch(first.url)).rejects.toThrow();
    idle.destroy();

    const second = home.begin({}, ['npm', 'start']);
    await until(() => second.output().includes('Ctrl-C'));
    expect(await home.paste(second, (line) => line.replace('climber', 'creeper'))).toMatch(/^409 .*40901/);
    expect(await home.list()).toContain('session.json');
    second.child.stdout.destroy();
    second.child.stderr.destroy();
    // The system signals the whole process group, including our guard.
    const group = -(second.child.pid ?? 0);
    onTestFinished(() => void (isRunning(group) && process.kill(group, 'SIGKILL')));
    process.kill(group, 'SIGHUP');
    await until(() => !isRunning(group));
    expect(await home.list()).toEqual(['curl', 'dynamodb', 'lock']);
  });

  test('lets no other user read its files, with any umask, leaves files of the user alone, and stops on SIGHUP', async ({
    home,
  }) => {
    await chmod(home.folder, 0o755);
    const mine = ['assembly/index.js', 'bundles/notes.txt', 'plants.json'];
    for (const name of mine) {
      await mkdir(path.dirname(path.join(home.folder, name)), { recursive: true });
      await writeFile(path.join(home.folder, name), 'mine');
    }
    const service = await home.start({}, ['sh', '-c', `umask 000; exec node ${programs.start}`]);
    const [temporary = ''] = (await home.list()).filter((name) => name.startsWith('plant-store-'));
    const mode = async (name: string) => (await stat(path.join(home.folder, name))).mode & 0o777;
    const folders = ['dynamodb', 'lock', temporary];
    expect(await Promise.all(folders.map(mode))).toEqual(folders.map(() => 0o700));
    // The session file contains the client secret.
    expect(await mode('session.json'), 'mode').toBe(0o600);

    await rm(path.join(home.folder, 'session.json'));
    await writeFile(path.join(home.folder, 'session.json'), 'mine');
    expect(await service.stop('SIGHUP')).toMatchObject({ code: 0, stderr: calm });
    expect(await home.list()).toEqual(['assembly', 'bundles', 'dynamodb', 'lock', 'plants.json', 'session.json']);
    for (const name of [...mine, 'session.json']) {
      expect(await readFile(path.join(home.folder, name), 'utf8')).toBe('mine');
    }
    expect(await mode('.'), 'mode').toBe(0o755);
  });

  test('loads the functions when the table in an external store is ready, and ends with code 1 if its output is closed', async ({
    home,
  }) => {
    const store = await startSlowStore();
    const { child, ended, output } = home.begin({ AWS_ENDPOINT_URL_DYNAMODB: store.endpoint });
    await until(() => store.described > 4);
    expect(output()).toMatch(/Synthesizing.*\n$/);
    store.status = 'ACTIVE';
    await until(() => output().includes('Ctrl-C'));
    await expect(takeDataFolder(home.folder)).rejects.toThrow('Another local service may be using it');

    child.stdout.destroy();
    const url = /at (http:\S+)/.exec(output())?.[1] ?? '';
    let isOver = false;
    void ended.then(() => (isOver = true));
    // Writing one line may still succeed: a process that another test forks keeps the pipe open for a moment.
    while (!isOver) await fetch(url).catch(() => undefined);
    expect(await ended).toMatchObject({ code: 1, stderr: calm });
    expect(await home.list()).toEqual(['lock']);
  });

  test('prints no error if it is stopped while it starts', async ({ home }) => {
    const { child, ended, output } = home.begin();
    await until(() => output().includes('Synthesizing'));
    child.kill('SIGTERM');
    const { code, stderr } = await ended;
    expect(code, 'exit code').toBe(0);
    expect(stderr).not.toMatch(/cannot|error/i);
    expect(await home.list()).toEqual(['dynamodb', 'lock']);
  });
});
