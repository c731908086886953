/**
 * Settings of the tests that need Chromium. They are separate, so that `npm test` does not need it. To run them:
 * `npx vitest run --config tools/test/browser/vitest.config.ts`
 */
import { defineConfig } from 'vitest/config';
import { options } from '../../../vitest.config.ts';

export default defineConfig({
  test: {
    ...options,
    include: ['tools/test/browser/*.browser.ts'],
    setupFiles: [],
    // By default, Vitest waits for a second, which a response on a busy machine may take.
    expect: { poll: { timeout: options.testTimeout } },
  },
});
