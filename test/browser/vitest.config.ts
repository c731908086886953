/** `npm run test:browser` runs the tests that need Chromium, which `npm test` does not need. */
import { defineConfig } from 'vitest/config';
import config from '../../vitest.config.ts';

export default defineConfig({
  test: { ...config.test, include: ['test/browser/*.browser.ts'], globalSetup: [], setupFiles: [] },
});
