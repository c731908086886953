export { breaksOf, readContract, readReleases } from './compatibility.ts';
export { type Contract, readOperations, type Schema } from './operations.ts';
export { resolve } from './schemas.ts';
