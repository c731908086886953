/** `npm run test:browser` runs the tests that need Chromium, which `npm test` does not need. */
import { defineConfig } from 'vitest/config';
import { options } from '../../vitest.config.ts';

export default defineConfig({
  test: { ...options, include: ['test/browser/*.browser.ts'], setupFiles: [] },
});
