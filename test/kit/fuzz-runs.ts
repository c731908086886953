/** How often each property is tried: FUZZ_RUNS, which `npm run fuzz` sets, or as many as a test run has time for. */
import fc from 'fast-check';

fc.configureGlobal({ numRuns: Number(process.env['FUZZ_RUNS'] ?? 200) });
