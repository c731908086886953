import { defineConfig } from 'vitest/config';
import all from '../../vitest.config.ts';

/** The tests that load the sources of functions/. Those of the bundles and of the stack would see no mutant. */
export default defineConfig({
  ...all,
  test: {
    ...all.test,
    include: ['test/functions/**/*.{test,fuzz,fault}.ts'],
    globalSetup: [],
    env: { FUZZ_RUNS: '20' },
  },
});
