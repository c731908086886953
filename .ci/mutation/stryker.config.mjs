/** @type {import('@stryker-mutator/api/core').PartialStrykerOptions} */
export default {
  // What only the bundles have is not seen by the tests of the sources.
  mutate: ['functions/**/*.ts', '!functions/{generated,replaced}/**'],
  testRunner: 'vitest',
  plugins: ['@stryker-mutator/vitest-runner'],
  vitest: { configFile: '.ci/mutation/vitest.config.ts' },
  coverageAnalysis: 'perTest',
  // Limits and patterns stand at the top of the files, and are promises: static mutants count.
  ignoreStatic: false,
  concurrency: 2,
  thresholds: { high: 95, low: 95, break: 95 },
  reporters: ['html', 'clear-text', 'progress'],
  clearTextReporter: { logTests: false },
  htmlReporter: { fileName: '.ci/mutation/report/mutation.html' },
  tempDirName: '.ci/mutation/sandbox',
  ignorePatterns: ['cdk.out', '.plant-store', '.ci/mutation/report'],
  // Stryker would rewrite it through an API that TypeScript 7 lacks. No test reads it.
  tsconfigFile: 'none',
};
