import { defineConfig } from 'vitest/config';
import all from '../../vitest.config.ts';

/** Runs only the tests that import the sources of functions/. Tests of bundles or the stack cannot detect mutants. */
export default defineConfig({
  ...all,
  test: {
    ...all.test,
    include: ['test/functions/**/*.{test,fuzz,fault}.ts'],
    globalSetup: [],
    env: { FUZZ_RUNS: '20' },
  },
});
