import { expect, test, vi } from 'vitest';
import { scopes } from '../../functions/generated/contract.ts';

test('the check from outside calls the first route of the contract', async () => {
  vi.stubEnv('ISSUER', 'https://issuer.example');
  vi.stubEnv('API_URL', 'https://127.0.0.1:1');
  const { handler } = await import('../../functions/outside-check.lambda.ts');
  const [route = ''] = Object.keys(scopes);
  await expect(handler()).rejects.toThrow(`${route.replace(' ', ' https://127.0.0.1:1')} must answer 401.`);
});
