/** `npm run test:browser`: tests that need a Chromium, which `npm test` does without. */
import { defineConfig } from 'vitest/config';
import config from '../../vitest.config.ts';

export default defineConfig({
  test: { ...config.test, include: ['test/browser/*.browser.ts'], globalSetup: [], setupFiles: [] },
});
