export { breaksOf, readContract, readReleases } from './compatibility.ts';
export { readOperations } from './operations.ts';
