import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { programs, run, temporaryFolder } from '../../../test/kit/local-service.ts';

test.each([
  ['tools/cli/plant.ts', 'import', '--from'],
  ['tools/cli/token.ts', '', '--stack'],
  ['tools/cli/request.ts', '', '--stack'],
  ['tools/cli/restore.ts', '', '--from'],
  ['tools/cli/stack-trace.ts', '', '--bundle'],
  ['tools/release/verify.ts', '', '--stack'],
  ['tools/release/diff.ts', '', '--allow'],
])('%s %s refuses to run if npm has taken its option %s', async (file, command, option) => {
  const taken = { [option.replace('--', 'npm_config_')]: 'true' };
  const { code, stderr } = await run(process.execPath, [file, ...(command ? [command] : [])], taken).ended;
  expect([code, stderr]).toEqual([1, expect.stringContaining(`npm takes ${option}`)]);
});

test('an empty value, which npm also has for null and false, is refused', async () => {
  const { code, stderr } = await run(process.execPath, [programs.token], { npm_config_stack: '' }).ended;
  expect([code, stderr]).toEqual([1, expect.stringContaining('npm takes --stack. ')]);
});

test("an option in npm's settings is not mistaken for one that npm has taken from the command line", async () => {
  const { folder, remove } = await temporaryFolder();
  onTestFinished(remove);
  const settings = path.join(folder, 'npmrc');
  await writeFile(settings, 'scope=@acme\nstack=false\n');
  const taken = { npm_config_scope: '@acme', npm_config_stack: '' };
  const environment = { ...taken, npm_config_userconfig: settings, DATA_DIR: folder };
  const { stderr } = await run(process.execPath, [programs.token], environment).ended;
  expect(stderr).toContain('No local service is running');
});
