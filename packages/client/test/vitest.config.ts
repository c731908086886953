/** Settings of the tests on other runtimes, which `npm ci --prefix .ci` installs. `npm test` leaves these tests out. */
import { defineConfig } from 'vitest/config';
import { options } from '../../../vitest.config.ts';

export default defineConfig({
  test: {
    ...options,
    include: ['packages/client/test/*.runtimes.ts'],
    setupFiles: [],
  },
});
