import { expect, onTestFinished, test, vi } from 'vitest';
import { temporaryFolder } from '../../../test/kit/local-service.ts';
import { startIn } from '../../release/project-copy.ts';

test("a command in a copy of the project does not inherit the caller's settings for the store, the data folder and the service, but gets the settings that are passed to it", async () => {
  const settings = ['AWS_ENDPOINT_URL_DYNAMODB', 'TABLE_NAME', 'DATA_DIR', 'PORT', 'API_URL', 'ACCESS_TOKEN'];
  for (const name of settings) vi.stubEnv(name, "the caller's");
  const { folder, remove } = await temporaryFolder();
  onTestFinished(remove);
  const environment = { API_URL: 'http://127.0.0.1:1' };
  const { ended, output } = startIn({ folder, temporary: folder }, ['env'], AbortSignal.timeout(60_000), environment);
  expect(await ended).toBe(0);
  expect(output()).not.toContain("the caller's");
  expect(output().split('\n')).toEqual(
    expect.arrayContaining(['API_URL=http://127.0.0.1:1', `TMPDIR=${folder}`, `PATH=${process.env['PATH']}`]),
  );
});
