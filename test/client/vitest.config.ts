/** `npm run test:runtimes` tests the packed client on other runtimes, which `npm test` does not need. */
import { defineConfig } from 'vitest/config';
import { options } from '../../vitest.config.ts';

export default defineConfig({
  test: {
    ...options,
    include: ['test/client/*.runtimes.ts'],
    setupFiles: [],
    globalSetup: 'test/kit/install-runtimes.ts',
  },
});
