import type { FunctionSpec } from '../../served-stack.ts';

/** A function whose role allows nothing in the store. It has no code, so it cannot be invoked. */
export const functionSpec: FunctionSpec = {
  name: 'Fn',
  folder: '',
  handler: 'index.handler',
  environment: {},
  timeout: 3_000,
  memoryMegabytes: 128,
  logLevel: 'INFO',
  role: [],
  roleName: 'FnRole',
};
