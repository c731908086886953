/** Settings of the tests on other runtimes, which `npm ci --prefix .ci` installs. `npm test` leaves these tests out. */
import { defineConfig } from 'vitest/config';

const report = process.env['VITEST_REPORT'];

export default defineConfig({
  test: {
    include: ['packages/client/test/*.runtimes.ts'],
    testTimeout: 300_000,
    hookTimeout: 300_000,
    // .ci/run counts the tests in this report.
    ...(report && { reporters: ['default', 'json'], outputFile: { json: report } }),
  },
});
