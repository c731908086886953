/**
 * Runs before each test file. The environment variable FUZZ_RUNS is the number of inputs with which fast-check tries
 * each property.
 */
import { devNull } from 'node:os';
import fc from 'fast-check';
import { afterAll, vi } from 'vitest';

// The SDK must not read the settings of whoever runs the tests.
Object.assign(process.env, { AWS_CONFIG_FILE: devNull, AWS_SHARED_CREDENTIALS_FILE: devNull });

fc.configureGlobal({ numRuns: Number(process.env['FUZZ_RUNS'] ?? 200) });

// Undo all stubs here, because Vitest undoes them only before the next test, and this worker may load the next file
// before that.
afterAll(() => {
  vi.useRealTimers();
  vi.unstubAllEnvs();
  vi.unstubAllGlobals();
});
