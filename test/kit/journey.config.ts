/** `npm run journey` tests only over HTTP, so it does not bundle the stack first. */
import { defineConfig } from 'vitest/config';
import { options } from '../../vitest.config.ts';

export default defineConfig({
  test: { ...options, include: ['test/service.e2e.ts'] },
});
