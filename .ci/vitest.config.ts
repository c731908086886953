/**
 * Settings of the tests that need Chromium (.browser), or what `npm ci --prefix .ci` installs: other runtimes and linters
 * (.runtimes). `npm test` leaves them out. To run one kind: `npx vitest run --config .ci/vitest.config.ts .browser.`
 */

import { longTimeouts } from '@lambda-service/testing/preset';
import { defineConfig } from 'vitest/config';
import { options } from '../vitest.config.ts';

export default defineConfig({
  test: {
    ...options,
    ...longTimeouts,
    include: ['packages/tools/test/browser/*.browser.ts', 'client/test/*.runtimes.ts', 'template/test/*.runtimes.ts'],
    setupFiles: [],
    // By default, Vitest waits for a second, which a response on a busy machine may take.
    expect: { poll: { timeout: longTimeouts.testTimeout } },
  },
});
