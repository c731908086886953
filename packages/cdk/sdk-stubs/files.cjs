/** Stub for node:fs/promises, with which the SDK looks for ~/.aws/config. A Lambda function does not have that file. */
// With CommonJS, esbuild accepts any name that a function imports, so that the error is ours, which says what to do.
exports.readFile = (path) =>
  Promise.reject(new Error(`A stub replaces the module fs/promises, so ${path} cannot be read.`));
