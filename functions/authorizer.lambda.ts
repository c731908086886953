import { tokenAuthorizer } from '@lambda-service/runtime/auth';
import { scopes } from './generated/contract.ts';

export const handler = tokenAuthorizer(scopes);
