/** Tests that what is deployed follows from the sources and node_modules alone, so that anybody can build it again. */
import { cpSync, globSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, inject, onTestFinished, test } from 'vitest';
import { bundleInputs, listEntries } from '../../infra/bundling.ts';
import { run, temporaryFolder } from '../kit/local-service.ts';
import { externalIssuer } from '../kit/stacks.ts';

const root = path.resolve(import.meta.dirname, '../..');

/** Copies what the stack is made from. The packages in the bundles are copied too, because esbuild follows links. */
const copyInto = (folder: string): void => {
  for (const each of ['functions', 'infra', 'local', 'cdk.json', 'package.json', 'tsconfig.json']) {
    cpSync(path.join(root, each), path.join(folder, each), { recursive: true });
  }
  const bundled = new Set(listEntries().flatMap((entry) => bundleInputs(entry).packages));
  for (const location of globSync('node_modules/{[!@]*,@*/*}', { cwd: root })) {
    const [from, to] = [path.join(root, location), path.join(folder, location)];
    if (bundled.has(location)) cpSync(from, to, { recursive: true });
    else {
      mkdirSync(path.dirname(to), { recursive: true });
      symlinkSync(from, to);
    }
  }
};

test('the template and the bundles are the same, byte for byte, if made in another folder, umask, locale and time zone', async () => {
  const { folder, remove } = await temporaryFolder();
  onTestFinished(remove);
  const [copy, output] = [path.join(folder, 'another folder'), path.join(folder, 'cdk.out')];
  copyInto(copy);
  const synthesize = `import { makeApp } from './local/stack.ts'; makeApp(process.argv[2], JSON.parse(process.argv[3])).synth();`;
  writeFileSync(path.join(copy, 'synthesize.ts'), synthesize);
  const command = `cd "$1" && umask 077 && exec ${process.execPath} synthesize.ts "$2" "$3"`;
  const environment = { LC_ALL: 'tr_TR.UTF-8', TZ: 'Pacific/Auckland' };
  const args = ['-c', command, 'sh', copy, output, JSON.stringify(externalIssuer)];
  const { code, stderr } = await run('sh', args, environment).ended;
  expect({ code, stderr: stderr.replaceAll(/^Bundling asset .*\n/gm, '') }).toEqual({ code: 0, stderr: '' });
  expect(JSON.parse(readFileSync(path.join(output, 'PlantStore.template.json'), 'utf8'))).toEqual(inject('template'));
  for (const { name, folder: asset } of inject('stack').functions) {
    const [here, there] = [asset, path.join(output, path.basename(asset))].map((each) =>
      readFileSync(path.join(each, 'index.js')),
    );
    expect(there?.equals(here ?? Buffer.of()), name).toBe(true);
  }
});
