import { expect, test, vi } from 'vitest';
import { defaultProvider } from '../../../infra/sdk-stubs/credentials.ts';

test('the credential stub reads the credentials from the environment once, and ignores later changes', async () => {
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'first');
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'secret');
  vi.stubEnv('AWS_SESSION_TOKEN', 'token');
  const provide = defaultProvider({});
  const credentials = { accessKeyId: 'first', secretAccessKey: 'secret', sessionToken: 'token' };
  expect(await provide()).toMatchObject(credentials);
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'second');
  expect(await provide()).toMatchObject(credentials);
});

test('the credential stub throws if the environment has no credentials', async () => {
  vi.stubEnv('AWS_ACCESS_KEY_ID', '');
  await expect(defaultProvider({})()).rejects.toThrow('environment');
});
