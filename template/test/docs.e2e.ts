/** Runs the commands and the code in README.md and client/README.md against a local service, as in this folder. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { pathWithCurl, run, startLocalService, testFolder } from '@lambda-service/testing/programs';
import { fetchToken, readSession } from '@lambda-service/tools/session';
import { describe, expect, onTestFinished, test } from 'vitest';
import { reasonToSkip } from '../contract.ts';

const root = path.resolve(import.meta.dirname, '../..');

/** Returns the code blocks in one language from the section of a README with this heading. */
const blocks = (heading: string, language: string, document = 'README.md'): string[] => {
  const [, section = ''] = readFileSync(path.join(root, document), 'utf8').split(`## ${heading}\n`);
  const [own = ''] = section.split(/^##/m);
  return [...own.matchAll(new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\``, 'gms'))].map(([, code = '']) => code);
};

describe.skipIf(reasonToSkip())('a reader of the READMEs', () => {
  test('can add plants with curl, from the command line, by importing a file, and from TypeScript', async () => {
    const folder = await testFolder();
    const { url, stop } = await startLocalService(folder);
    onTestFinished(async () => void (await stop()));
    const here = (code: string): string =>
      code.replaceAll('http://127.0.0.1:3000', url).replaceAll('plants.ndjson', path.join(folder, 'plants.ndjson'));
    const shell = async (code: string) => {
      const environment = { DATA_DIR: folder, PATH: await pathWithCurl() };
      return run('sh', ['-ec', here(code)], environment).ended;
    };

    const [curl = ''] = blocks('With curl, or in the browser', 'sh');
    expect(await shell(curl)).toMatchObject({ code: 0, stdout: '200 {"name":"Swiss cheese plant","tag":"climber"}\n' });
    expect((await fetch(`${url}/docs`)).status).toBe(200);

    const [commands = ''] = blocks('From the command line', 'sh');
    expect(await shell(commands)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('1 new, 0 stored, 0 already there, 0 failed'),
    });

    // Git ignores what a reader writes, and what an import with failures writes.
    const written = ['plants.ndjson', 'plants.ndjson.failed.ndjson', '.local-service/plant.mts'];
    const ignored = execFileSync('git', ['check-ignore', ...written], { cwd: root, encoding: 'utf8' });
    expect(ignored.trim().split('\n')).toEqual(written);

    const file = path.join(folder, 'plant.mts');
    const project = { extends: path.join(root, 'tsconfig.json'), include: [file] };
    await writeFile(path.join(folder, 'tsconfig.json'), JSON.stringify(project));
    await symlink(path.join(root, 'node_modules'), path.join(folder, 'node_modules'));
    const token = await fetchToken(readSession(folder));
    const node = async (code: string) => {
      await writeFile(file, here(code));
      const compile = run(process.execPath, ['node_modules/typescript/bin/tsc', '-p', folder]);
      expect(await compile.ended).toEqual({ code: 0, stdout: '', stderr: '' });
      return run(process.execPath, [file], { ACCESS_TOKEN: token }).ended;
    };
    const [ownSample = ''] = blocks('Add a plant', 'ts', 'client/README.md');
    expect(await node(ownSample)).toEqual({ code: 0, stdout: 'stored: Swiss cheese plant\n', stderr: '' });
  });
});
