import { scopes } from '../../../functions/generated/contract.ts';

/** Every scope of the contract, separated by spaces. */
export const allScopes = [...new Set(Object.values(scopes).flat())].join(' ');
