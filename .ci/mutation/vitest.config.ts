import { defineConfig } from 'vitest/config';
import { options } from '../../vitest.config.ts';

/**
 * Runs only the tests that import the source files in functions/. Tests of the bundles or of the CDK stack cannot
 * detect Stryker's changes to that code.
 */
export default defineConfig({
  test: { ...options, include: ['test/functions/**/*.{test,fuzz,fault}.ts'], env: { FUZZ_RUNS: '20' } },
});
