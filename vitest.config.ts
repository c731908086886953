import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    // The suffix says the kind: unit, property, fault, trial, and end-to-end.
    include: ['test/**/*.{test,fuzz,fault,trial,e2e}.ts'],
    globalSetup: 'test/kit/bundled-stack.ts',
    setupFiles: 'test/kit/fuzz-runs.ts',
    // Only what hangs takes so long: a start of the whole service takes 2 s, and a minute beside 12 endless loops.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    teardownTimeout: 300_000,
    // Threads start faster than processes, an eighth of the whole.
    pool: 'threads',
    // The default leaves a core idle, half of a small machine.
    maxWorkers: '100%',
    restoreMocks: true,
    unstubEnvs: true,
    coverage: {
      include: ['{client,functions,infra,local}/**/*.ts'],
      exclude: ['**/generated/**', '**/*.d.ts'],
      reporter: ['text', 'html'],
      reportOnFailure: true,
      // For processes that a test starts. If a file runs there and in Vitest, only its lines are counted once, not its
      // functions and branches. local/lambda-runtime.ts, whose worker has an environment of its own, stays at 0.
      autoAttachSubprocess: true,
    },
    // .ci/run takes its last line from the report.
    ...(process.env['VITEST_REPORT'] && {
      reporters: ['default', 'json'],
      outputFile: { json: process.env['VITEST_REPORT'] },
    }),
  },
});
