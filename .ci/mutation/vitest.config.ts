import { defineConfig } from 'vitest/config';
import { options } from '../../vitest.config.ts';

/** Runs only the tests that import the sources of functions/. Tests of bundles or the stack cannot detect mutants. */
export default defineConfig({
  test: { ...options, include: ['test/functions/**/*.{test,fuzz,fault}.ts'], env: { FUZZ_RUNS: '20' } },
});
