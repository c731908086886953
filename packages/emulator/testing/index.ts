/** The emulator's parts without its store, for tests. The packed emulator does not have this door. */
export { httpApi } from '../gateway/api.ts';
export { eventBody } from '../gateway/request.ts';
export { responses } from '../gateway/response.ts';
export { gateway } from '../gateway/server.ts';
export { Functions, type LogLine } from '../lambda/functions.ts';
export { readPolicy } from '../policy.ts';
export { defaultAccount, type FunctionSpec, type ServedStack, type TableSpec } from '../served-stack.ts';
export { readTemplate, type Template } from '../template/read-template.ts';
