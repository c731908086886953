/** Settings of the tests with what `npm ci --prefix .ci` installs: other runtimes and linters. `npm test` leaves them out. */
import { defineConfig } from 'vitest/config';

const report = process.env['VITEST_REPORT'];

export default defineConfig({
  test: {
    include: ['packages/*/test/*.runtimes.ts'],
    testTimeout: 300_000,
    hookTimeout: 300_000,
    // .ci/run counts the tests in this report.
    ...(report && { reporters: ['default', 'json'], outputFile: { json: report } }),
  },
});
