/**
 * `npm run test:browser` runs the tests that need Chromium. They are separate, so `npm test` does not need Chromium.
 */
import { defineConfig } from 'vitest/config';
import { options } from '../../../vitest.config.ts';

export default defineConfig({
  test: { ...options, include: ['tools/test/browser/*.browser.ts'], setupFiles: [] },
});
