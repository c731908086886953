/** `npm run test:runtimes` tests the packed client on other runtimes, which `npm test` does not need. */
import { defineConfig } from 'vitest/config';
import config from '../../vitest.config.ts';

export default defineConfig({
  test: { ...config.test, include: ['test/client/*.runtimes.ts'], globalSetup: [], setupFiles: [] },
});
