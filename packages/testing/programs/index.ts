/**
 * Git, programs of the project, which are killed when the test's process ends, and folders that are removed.
 * @example
 * const service = await startLocalService(await testFolder());
 * onTestFinished(async () => void (await service.stop()));
 * @throws Error on a start, with the output, if the program ends early
 */
export * from './git.ts';
export * from './local-service.ts';
export * from './reached-service.ts';
