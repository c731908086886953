/** `npm run journey`: no test of it reads the stack that others have bundled first. */
import { defineConfig } from 'vitest/config';
import { options } from '../../vitest.config.ts';

export default defineConfig({
  test: { ...options, include: ['test/service.e2e.ts'] },
});
