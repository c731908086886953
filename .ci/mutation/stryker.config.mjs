/** @type {import('@stryker-mutator/api/core').PartialStrykerOptions} */
export default {
  mutate: ['functions/**/*.ts', '!functions/generated/**'],
  testRunner: 'vitest',
  plugins: ['@stryker-mutator/vitest-runner'],
  vitest: { configFile: '.ci/mutation/vitest.config.ts' },
  coverageAnalysis: 'perTest',
  // Also mutate code that runs only when a module loads: the limits and patterns that clients rely on are top-level
  // constants.
  ignoreStatic: false,
  concurrency: 2,
  thresholds: { high: 95, low: 95, break: 95 },
  reporters: ['html', 'clear-text', 'progress'],
  clearTextReporter: { logTests: false },
  htmlReporter: { fileName: '.ci/mutation/report/mutation.html' },
  tempDirName: '.ci/mutation/sandbox',
  ignorePatterns: ['cdk.out', '.plant-store', '.ci/mutation/report'],
  // 'none': Stryker must not rewrite tsconfig.json, because that needs an API that TypeScript 7 lacks. No test reads
  // tsconfig.json.
  tsconfigFile: 'none',
};
