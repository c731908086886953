import { outsideCheck } from '@lambda-service/runtime/smoke-test';
import { scopes } from './generated/contract.ts';

export const handler = outsideCheck(scopes);
