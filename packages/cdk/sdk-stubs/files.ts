/** Stub for node:fs/promises, with which the SDK looks for ~/.aws/config. A Lambda function does not have that file. */
export const readFile = (path: string): Promise<never> =>
  Promise.reject(
    new Error(
      `In the functions, a stub of @lambda-service/cdk replaces the module fs/promises, so ${path} cannot be read.`,
    ),
  );
