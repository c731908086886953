import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { testFolder } from '@lambda-service/testing/programs';
import { until } from '@lambda-service/testing/waiting';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { watchSources } from '../../start/reloader.ts';

describe('the watcher', () => {
  const renderer = 'packages/contract/page/render.ts';
  const generator = 'packages/contract/types.ts';
  let write: (file: string) => Promise<void>;
  let replace: (file: string) => Promise<void>;
  let remove: (file: string) => Promise<void>;
  let changed: string[];

  beforeEach(async () => {
    const folder = await testFolder();
    const at = (file: string): string => path.join(folder, file);
    write = async (file) => {
      await mkdir(path.dirname(at(file)), { recursive: true });
      await writeFile(at(file), '');
    };
    replace = async (file) => {
      await writeFile(at(`${file}~`), '');
      await rename(at(`${file}~`), at(file));
    };
    remove = (file) => rm(at(file), { force: true });
    const files = [
      'packages/runtime/http/errors.ts',
      'packages/cdk/settings.ts',
      'schemas/openapi.yaml',
      renderer,
      generator,
      // The watcher may miss a new file in a new folder.
      'functions/generated/contract.ts',
    ];
    for (const file of files) await write(file);
    changed = [];
    const close = await watchSources(folder, (file) => changed.push(file));
    onTestFinished(close);
  });

  /**
   * Repeats a change of a file until the watcher reports the file (a removal has an effect only once). Ignores reports of
   * other files: on a busy machine, the report of an earlier change can come late.
   *
   * chokidar does not report a second change within 50 ms, and may miss a new file or folder in a new folder
   * (https://github.com/paulmillr/chokidar/issues/1471).
   */
  const expectReport = async (change: (file: string) => Promise<void>, file: string): Promise<void> => {
    changed = [];
    await until(async () => {
      await change(file);
      return changed.includes(file);
    });
  };

  test('reports a source file that is written, added in a new folder, or removed', async () => {
    await expectReport(write, 'packages/runtime/http/errors.ts');
    await expectReport(write, path.join('functions', 'new', 'c.ts'));
    await expectReport(remove, 'packages/cdk/settings.ts');
    for (const file of [renderer, generator]) await expectReport(write, file);
  });

  test('reports a source file each time an editor replaces it', async () => {
    // A watcher that notices only the first replacement, as fs.watch does, may report it twice, but not five times.
    for (let replacement = 0; replacement < 5; replacement++) await expectReport(replace, 'schemas/openapi.yaml');
  });

  test("does not report generated files, released contracts, the page's script or editors' temporary files", async () => {
    const temporary = ['.a.ts.swp', 'a.ts~', '4913', '.#a.ts', 'http/a.ts___jb_tmp___'].map(
      (name) => `functions/${name}`,
    );
    const others = ['functions/generated/contract.ts', 'schemas/released/1.0.0.yaml', 'packages/contract/page/page.js'];
    // The watcher may miss a single change, but not each of several.
    await until(async () => {
      for (const file of [...temporary, ...others, 'packages/cdk/settings.ts']) await write(file);
      return changed.filter((file) => file === 'packages/cdk/settings.ts').length > 2;
    });
    expect(new Set(changed)).toEqual(new Set(['packages/cdk/settings.ts']));
  });
});
