import { defineConfig } from 'vitest/config';

/** Options that all tests share, including those with another configuration. */
export const options = {
  setupFiles: 'test/kit/setup.ts',
  // Only a test that hangs takes this long. The local service starts in 2 s, or in a minute on a very busy machine.
  testTimeout: 300_000,
  hookTimeout: 300_000,
  teardownTimeout: 300_000,
  // Threads start faster than processes.
  pool: 'threads' as const,
  // Vitest's default leaves one core idle: half of a machine with two cores.
  maxWorkers: '100%',
  restoreMocks: true,
  unstubEnvs: true,
  unstubGlobals: true,
  // .ci/run counts the tests in this report.
  ...(process.env['VITEST_REPORT'] && {
    reporters: ['default', 'json'],
    outputFile: { json: process.env['VITEST_REPORT'] },
  }),
};

/**
 * Tests that replace modules, keep variables or a fake clock for the whole file, or measure memory. Each file runs alone
 * in a worker.
 */
const alone = '*.lambda|create-plant*|deployed-stack|endurance|store';

const folders = ['test', 'emulator/test'];

/** The suffix says the kind of test: unit (test), property (fuzz), fault, trial or end-to-end (e2e). */
export const include = {
  shared: folders.map((folder) => `${folder}/**/!(${alone}).{test,fuzz,trial,e2e}.ts`),
  isolated: folders.flatMap((folder) => [
    `${folder}/**/@(${alone}).{test,fuzz,trial,e2e}.ts`,
    `${folder}/**/*.fault.ts`,
  ]),
};

export default defineConfig({
  test: {
    ...options,
    globalSetup: 'test/kit/bundled-stack.ts',
    projects: [
      // Modules load once for each worker, not for each file: the CDK and the SDK take most of a file's time.
      { test: { name: 'shared', include: include.shared, isolate: false } },
      { test: { name: 'isolated', include: include.isolated } },
    ],
    coverage: {
      include: ['{cli,client,emulator,functions,infra,local}/**/*.ts'],
      exclude: ['**/generated/**', '**/*.d.ts', 'emulator/test/**'],
      reporter: ['text', 'html'],
      reportOnFailure: true,
      // Counts child processes too. If a file runs there and in Vitest, its lines are merged, but its functions and
      // branches count twice. What runs in the worker threads of emulator/lambda/ shows 0: they have an environment of
      // their own.
      autoAttachSubprocess: true,
    },
  },
});
