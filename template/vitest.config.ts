import { longTimeouts } from '@lambda-service/testing/preset';
import { defineConfig } from 'vitest/config';
import { options } from '../vitest.config.ts';

export default defineConfig({
  test: {
    ...options,
    ...longTimeouts,
    include: ['template/test/**/*.{test,e2e}.ts'],
    globalSetup: 'packages/testing/bundled-stack.ts',
  },
});
