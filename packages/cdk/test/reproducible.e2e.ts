/**
 * Tests that the template and the bundles depend only on sources and node_modules, so that anybody can reproduce them.
 */
import { cpSync, globSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { run, testFolder } from '@lambda-service/testing/programs';
import { featureFlags, kinds } from '@lambda-service/testing/stack';
import { expect, inject, test } from 'vitest';
import { bundleInputs, listEntries } from '../bundling.ts';

/**
 * Copies the sources of the stack and the packages in its bundles to `folder`, and links the other packages. Bundled
 * packages are not linked, because esbuild would follow the links out of `folder`.
 */
const copyInto = (folder: string): void => {
  for (const each of ['functions', 'infra', 'schemas', 'packages/contract', 'package.json', 'tsconfig.json']) {
    cpSync(each, path.join(folder, each), { recursive: true });
  }
  const bundled = new Set(listEntries().flatMap((entry) => bundleInputs(entry).packages));
  for (const location of globSync('node_modules/{[!@]*,@*/*}')) {
    const [from, to] = [path.resolve(location), path.join(folder, location)];
    if (bundled.has(location)) cpSync(from, to, { recursive: true });
    else {
      mkdirSync(path.dirname(to), { recursive: true });
      symlinkSync(from, to);
    }
  }
};

/** Leaves out what only infra/app.ts adds: the acknowledged findings of cdk-nag. */
const withoutMetadata = (template: string): unknown =>
  JSON.parse(template, (key, value) => (key === 'Metadata' ? undefined : value));

test('a build in another folder, with another umask, locale and time zone, makes the same template, and bundles that are the same byte for byte', async () => {
  const folder = await testFolder();
  const [copy, output] = [path.join(folder, 'another folder'), path.join(folder, 'cdk.out')];
  copyInto(copy);
  const command = `cd '${copy}' && umask 077 && exec '${process.execPath}' infra/app.ts`;
  const environment = {
    LC_ALL: 'tr_TR.UTF-8',
    TZ: 'Pacific/Auckland',
    CDK_OUTDIR: output,
    CDK_CONTEXT_JSON: JSON.stringify({ ...featureFlags, ...kinds.prodWithIssuer }),
    CDK_VALIDATION: 'false',
  };
  const { code, stderr } = await run('sh', ['-c', command], environment).ended;
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const text = readFileSync(path.join(output, `${inject('stackName')}.template.json`), 'utf8');
  expect(withoutMetadata(text)).toEqual(withoutMetadata(JSON.stringify(inject('template'))));
  for (const { name, folder: asset } of inject('stack').functions) {
    const [here, there] = [asset, path.join(output, path.basename(asset))].map((each) =>
      readFileSync(path.join(each, 'index.js')),
    );
    expect(there?.equals(here ?? Buffer.of()), name).toBe(true);
  }
});
