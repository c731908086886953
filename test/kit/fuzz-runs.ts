/** Sets how often fast-check tries each property: FUZZ_RUNS, which `npm run fuzz` sets, or 200 in other test runs. */
import fc from 'fast-check';

fc.configureGlobal({ numRuns: Number(process.env['FUZZ_RUNS'] ?? 200) });
