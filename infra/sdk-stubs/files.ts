/** Stub for node:fs/promises: the SDK looks for ~/.aws/config, which a Lambda function does not have. */
export const readFile = (path: string): Promise<never> =>
  Promise.reject(
    new Error(`infra/sdk-stubs/files.ts replaces this module of Node.js in functions, so ${path} is not read.`),
  );
