import { smokeTest } from '@lambda-service/runtime/smoke-test';
import { type Operations, operations } from './generated/contract.ts';
import { key } from './plant-table.ts';
import { newChecks } from './smoke-checks.ts';

export const handler = smokeTest<Operations>({ operations, key, newChecks });
