export { breaksOf, readContract, readReleases } from './compatibility.ts';
export { type Contract, resolve, type Schema } from './document.ts';
export { readOperations } from './operations.ts';
