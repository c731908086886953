/** Checks the emulator's npm package with linters for npm packages. */
import path from 'node:path';
import { expect, test } from 'vitest';
import { pack, run } from './kit/packed.ts';
import { temporaryFolder } from './kit/temporary.ts';

const tools = path.resolve('.ci/node_modules');

test('the packed emulator passes publint and attw', async () => {
  const folder = await temporaryFolder();
  const tarball = await pack(folder);
  const publint = await run(process.execPath, [path.join(tools, 'publint/src/cli.js'), 'run', tarball, '--strict'], {
    env: { ...process.env, NO_COLOR: '1' },
  });
  expect(publint.stdout).toMatch(/\nAll good!\n$/);
  const attw = path.join(tools, '@arethetypeswrong/cli/dist/index.js');
  // `run` rejects if attw finds problems.
  await run(process.execPath, [attw, tarball, '--profile', 'esm-only']);
});
