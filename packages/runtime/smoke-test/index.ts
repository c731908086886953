/** Functions that test the service: a new version before clients reach it, and the API from outside. */
export { outsideCheck } from './outside-check.ts';
export type { Check, Checks } from './run-checks.ts';
export { smokeTest } from './smoke-test.ts';
