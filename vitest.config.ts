import { defineConfig } from 'vitest/config';

/** These change their own process: its modules, environment, clock or memory. Each gets a worker alone. */
export const isolated = [
  'test/functions/*.{test,fuzz,e2e}.ts',
  'test/**/*.fault.ts',
  'test/local/{deployed-stack,store}.test.ts',
  'test/trials/endurance.trial.ts',
];

/** What all tests have in common, those with another configuration included. */
export const options = {
  setupFiles: 'test/kit/setup.ts',
  // Only a hang takes this long. The whole local service starts in 2 s, or in a minute beside 12 endless loops.
  testTimeout: 300_000,
  hookTimeout: 300_000,
  teardownTimeout: 300_000,
  // Threads start faster than processes: the whole run is an eighth shorter.
  pool: 'threads' as const,
  // Vitest's default leaves one core idle: half of a machine with two cores.
  maxWorkers: '100%',
  restoreMocks: true,
  unstubGlobals: true,
  unstubEnvs: true,
  // .ci/run counts the tests in this report.
  ...(process.env['VITEST_REPORT'] && {
    reporters: ['default', 'json'],
    outputFile: { json: process.env['VITEST_REPORT'] },
  }),
};

/** The suffix says the kind of test: unit (test), property (fuzz), fault, trial or end-to-end (e2e). */
export const include = ['test/**/*.{test,fuzz,fault,trial,e2e}.ts'];

export default defineConfig({
  test: {
    ...options,
    globalSetup: 'test/kit/bundled-stack.ts',
    projects: [
      // Modules load once for each worker, not for each file: the CDK and the SDK take most of a file's time.
      {
        test: {
          ...options,
          name: 'shared',
          include: [...include, ...isolated.map((file) => `!${file}`)],
          isolate: false,
        },
      },
      { test: { ...options, name: 'isolated', include: isolated } },
    ],
    coverage: {
      include: ['{client,functions,infra,local}/**/*.ts'],
      exclude: ['**/generated/**', '**/*.d.ts'],
      reporter: ['text', 'html'],
      reportOnFailure: true,
      // Counts child processes too. If a file runs there and in Vitest, only its lines are merged, its functions and
      // branches count twice. local/lambda-runtime.ts shows 0, because its worker has a separate environment.
      autoAttachSubprocess: true,
    },
  },
});
