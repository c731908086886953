import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    // The suffix says the kind of test: unit (test), property (fuzz), fault, trial or end-to-end (e2e).
    include: ['test/**/*.{test,fuzz,fault,trial,e2e}.ts'],
    globalSetup: 'test/kit/bundled-stack.ts',
    setupFiles: 'test/kit/fuzz-runs.ts',
    // Only a hang takes this long. The whole local service starts in 2 s, or in a minute beside 12 endless loops.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    teardownTimeout: 300_000,
    // Threads start faster than processes: the whole run is an eighth shorter.
    pool: 'threads',
    // Vitest's default leaves one core idle: half of a machine with two cores.
    maxWorkers: '100%',
    restoreMocks: true,
    unstubEnvs: true,
    coverage: {
      include: ['{client,functions,infra,local}/**/*.ts'],
      exclude: ['**/generated/**', '**/*.d.ts'],
      reporter: ['text', 'html'],
      reportOnFailure: true,
      // Counts child processes too. If a file runs there and in Vitest, only its lines are merged, its functions and
      // branches count twice. local/lambda-runtime.ts shows 0, because its worker has a separate environment.
      autoAttachSubprocess: true,
    },
    // .ci/run counts the tests in this report.
    ...(process.env['VITEST_REPORT'] && {
      reporters: ['default', 'json'],
      outputFile: { json: process.env['VITEST_REPORT'] },
    }),
  },
});
