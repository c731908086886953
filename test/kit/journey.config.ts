/** Configures `npm run journey`, which tests a service only over HTTP and so does not bundle the stack first. */
import { defineConfig } from 'vitest/config';
import { options } from '../../vitest.config.ts';

export default defineConfig({
  test: { ...options, include: ['**/{service,over-http}.e2e.ts'] },
});
