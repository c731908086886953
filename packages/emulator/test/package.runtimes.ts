/** Checks the emulator's npm package with linters for npm packages, and runs its command on an old Node.js. */
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { pack, run, unpack } from './kit/packed.ts';
import { temporaryFolder } from './kit/temporary.ts';

const tools = path.resolve('.ci/node_modules');

test('the packed emulator passes publint and attw, and its command tells an old Node.js which one it needs', async () => {
  const folder = await temporaryFolder();
  const tarball = await pack(folder);
  const publint = await run(process.execPath, [path.join(tools, 'publint/src/cli.js'), 'run', tarball, '--strict'], {
    env: { ...process.env, NO_COLOR: '1' },
  });
  expect(publint.stdout).toMatch(/\nAll good!\n$/);
  const attw = path.join(tools, '@arethetypeswrong/cli/dist/index.js');
  // `run` rejects if attw finds problems.
  await run(process.execPath, [attw, tarball, '--profile', 'esm-only']);

  const installed = path.join(folder, 'installed');
  await mkdir(installed);
  await unpack(tarball, installed);
  const node20 = path.join(tools, `node-linux-${process.arch}/bin/node`);
  await expect(run(node20, [path.join(installed, 'dist/command/bin.js')])).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^http-api-emulator needs Node.js 24\.5 or newer, but this is v20\.\S+ \(.*\)\.\n$/),
  });
});
