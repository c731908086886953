import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { newId, optionsFor } from '../../../test/kit/example.ts';
import { programs, run, temporaryFolder } from '../../../test/kit/local-service.ts';

test('npm run plant refuses to run if npm has taken the options, because there is no -- before them', async () => {
  const options = ['--url', 'http://127.0.0.1:9', ...optionsFor(newId())];
  const { code, stderr } = await run('npm', ['run', '-s', 'plant', 'create', ...options]).ended;
  expect(code).toBe(1);
  const advice = 'Write -- before the options, as in: npm run -s plant -- --url ...\n';
  expect(stderr).toContain(`error: npm has taken --url. ${advice}`);
});

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
  expect([code, stderr]).toEqual([1, expect.stringContaining(`npm has taken ${option}. `)]);
});

test.each([
  ['which is empty', '--stack', 'npm_config_stack', ''],
  ['which is short for an option of npm', '--token', 'npm_config_token_description', 'a.b.c'],
])('npm run plant refuses to run if npm has taken an option %s', async (_, option, variable, value) => {
  const { code, stderr } = await run(process.execPath, [programs['plant'], 'create'], { [variable]: value }).ended;
  expect([code, stderr]).toEqual([1, expect.stringContaining(`npm has taken ${option}. `)]);
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
