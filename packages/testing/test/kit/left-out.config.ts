/** Configures the run of left-out.e2e.ts. */
import { defineConfig } from 'vitest/config';
import { testOptions } from '../../preset.ts';

const include = ['packages/testing/test/kit/two-parts.ts'];

export default defineConfig({ test: { ...testOptions('packages/testing/test/kit/orders.ts'), include } });
