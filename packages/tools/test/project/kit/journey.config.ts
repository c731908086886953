/** Configures `npm run journey`, which tests a service only over HTTP and so does not bundle the stack first. */
import { defineConfig } from 'vitest/config';
import { options } from '../../../../../vitest.config.ts';

export default defineConfig({
  // One worker, because to load the modules takes longer than to run the tests.
  test: { ...options, include: ['**/suite/http.e2e.ts', '**/*.journey.ts'], isolate: false, maxWorkers: 1 },
});
