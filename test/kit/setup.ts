/** Runs before each test file. FUZZ_RUNS, which `npm run fuzz` sets, says how often fast-check tries each property. */
import { devNull } from 'node:os';
import fc from 'fast-check';
import { afterAll, vi } from 'vitest';

// The SDK must not read the settings of whoever runs the tests.
Object.assign(process.env, { AWS_CONFIG_FILE: devNull, AWS_SHARED_CREDENTIALS_FILE: devNull });

fc.configureGlobal({ numRuns: Number(process.env['FUZZ_RUNS'] ?? 200) });

// The next file may run in the same worker, and Vitest undoes stubs only before its first test.
afterAll(() => {
  vi.useRealTimers();
  vi.unstubAllEnvs();
  vi.unstubAllGlobals();
});
