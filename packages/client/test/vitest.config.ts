/** Settings of `npm run test:runtimes`, which tests the client on other runtimes. `npm test` leaves these tests out. */
import { defineConfig } from 'vitest/config';
import { options } from '../../../vitest.config.ts';

export default defineConfig({
  test: {
    ...options,
    include: ['packages/client/test/*.runtimes.ts'],
    setupFiles: [],
    globalSetup: 'test/kit/install-runtimes.ts',
  },
});
