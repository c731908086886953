import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    // The suffix says the kind: unit, property, fault, trial, and end-to-end.
    include: ['test/**/*.{test,fuzz,fault,trial,e2e}.ts'],
    globalSetup: 'test/kit/bundled-stack.ts',
    setupFiles: 'test/kit/fuzz-runs.ts',
    // An end-to-end test starts the whole local service, on a machine that may be busy.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // Threads start faster than processes, an eighth of the whole.
    pool: 'threads',
    // The default leaves a core idle, half of a small machine.
    maxWorkers: '100%',
    restoreMocks: true,
    unstubEnvs: true,
    // .ci/run takes its last line from the report.
    ...(process.env['VITEST_REPORT'] && {
      reporters: ['default', 'json'],
      outputFile: { json: process.env['VITEST_REPORT'] },
    }),
  },
});
