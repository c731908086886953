/** What a newcomer does with `npm start` and `npm run -s token`. */
import { once } from 'node:events';
import { stat } from 'node:fs/promises';
import { connect } from 'node:net';
import path from 'node:path';
import { describe, expect, vi } from 'vitest';
import { test } from '../local-home.ts';
import { post } from '../local-service.ts';

describe('npm start', () => {
  test('serves; the line it prints, pasted, answers 200; SIGTERM ends it; the plant survives', async ({ at }) => {
    const first = await at.start({}, ['npm', 'start']);
    expect(await at.paste(first)).toBe('200 {"name":"Swiss cheese plant","tag":"climber"}\n');
    expect(first.output()).toContain(`${first.url}/docs\n`);
    expect((await fetch(`${first.url}/docs`)).status).toBe(200);
    await first.stop('SIGTERM');
    expect(first.output()).toContain('Stopping');
    expect(at.has('session.json')).toBe(false);
    await expect(fetch(first.url)).rejects.toThrow();

    const second = await at.start({}, ['npm', 'start']);
    expect(await at.paste(second)).toMatch(/^200 /);
    expect(await at.paste(second, (line) => line.replace('climber', 'creeper'))).toMatch(/^409 .*40901/);
  });

  test('prints a line a request, gives out tokens, keeps its data to itself, and ends on SIGINT', async ({ at }) => {
    const service = await at.start();
    const { code, stdout: token, stderr } = await at.token();
    expect([code, stderr]).toEqual([0, '']);
    expect(token).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+\n$/);
    // It holds the client's secret.
    expect((await stat(path.join(at.folder, 'session.json'))).mode & 0o777).toBe(0o600);

    expect(await at.failure()).toContain('Another local service may be using it');
    expect(await post(service.url, '{"id":1,"name":"Moss"}', token)).toBe(200);
    expect(await post(service.url, '{}', 'a.b.c')).toBe(403);
    await fetch(`${service.url}/other`);
    await vi.waitUntil(() => service.output().includes('/other'));
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
    expect(ended.code).toBe(0);
    expect(ended.stderr).not.toMatch(/error|warning/i);
    expect([at.has('session.json'), at.has('assembly'), at.has('dynamodb')]).toEqual([false, false, true]);
    idle.destroy();
  });
});
