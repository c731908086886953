/** Vitest's configuration for a service, its tests, and the suite that every service must pass. */
import { existsSync, globSync } from 'node:fs';
import path from 'node:path';
import { defineConfig } from 'vitest/config';

/** The path of a module beside this one: TypeScript in a workspace, JavaScript in an installed package. */
const beside = (name: string): string => path.join(import.meta.dirname, name + path.extname(import.meta.filename));

/** Returns after how many milliseconds a test or a hook fails. */
const timeouts = (limit: number) => ({ testTimeout: limit, hookTimeout: limit, teardownTimeout: limit });

/** For tests that start programs: the local service starts in 2 s, or in a minute on a very busy machine. */
export const longTimeouts = timeouts(300_000);

/**
 * Returns the options for all tests, including tests that run with another Vitest configuration.
 * @param service the file that exports the service under test as `service`, relative to the project's folder
 */
export const testOptions = (service: string) => ({
  setupFiles: beside('setup'),
  provide: { service: path.resolve(service) },
  // Only a test that hangs takes this long.
  ...timeouts(20_000),
  // Run test files in threads, which start faster than processes.
  pool: 'threads' as const,
  // By default, Vitest leaves one core idle, which is half of a machine with two cores.
  maxWorkers: '100%',
  // Vitest must load the packages as it loads the service, or their tests would get modules of their own.
  server: { deps: { inline: [/\/node_modules\/(?:@lambda-service\/|openapi-contract\/|http-api-emulator\/)/] } },
  restoreMocks: true,
  unstubEnvs: true,
  unstubGlobals: true,
  // .ci/run counts the tests in this report.
  ...(process.env['VITEST_REPORT'] && {
    reporters: ['default', 'json'],
    outputFile: { json: process.env['VITEST_REPORT'] },
  }),
});

/**
 * Files that run alone in a worker, because their tests replace modules, measure memory, or keep environment variables
 * or a fake clock for the whole file.
 */
const alone = '*.lambda|*.alone';

/** What Vitest is told to run: its arguments, without its command. */
const given = (): string[] =>
  process.argv.slice(2).filter((each) => !/^(run|watch|dev|list|related|bench)$/.test(each));

/**
 * Returns the folders of tests that are in the folders, or around them, that Vitest is told to run; all if it is told
 * anything else. Vitest itself compares an argument with any part of a path: `test` would select every file.
 */
const chosenOf = (patterns: string[]): string[] => {
  const all = given();
  const option = all.findIndex((each) => each.startsWith('-'));
  // What follows an option may be its value.
  const named = (option === -1 ? all : all.slice(0, option)).map((each) => path.relative('', each));
  if (!named.every((each) => existsSync(`${path.resolve(each)}/.`))) return patterns;
  const isIn = (inner: string, outer: string) => `${inner}/`.startsWith(outer === '' ? '' : `${outer}/`);
  const folders = globSync(patterns);
  const chosen = named.flatMap((one) =>
    folders.some((each) => isIn(one, each)) ? one : folders.filter((each) => isIn(each, one)),
  );
  return chosen.length > 0 ? chosen : patterns;
};

/**
 * The suffix of a file says which tests it contains: .test (unit), .fuzz (property), .fault, .trial or .e2e
 * (end-to-end). The last two run only if an argument of Vitest names such a file, or the suffix. In the mode `journey`,
 * only those run that need nothing but HTTP, and so work with a deployment.
 * @param folders the folders of the tests, as patterns
 * @example export default serviceTests('test/service.ts', ['test']);
 */
export const serviceTests = (service: string, folders: string[]) => {
  const isSlow = given().some((each) => !/^-|\*/.test(each) && /\.(e2e|trial)\b/.test(each));
  const suffixes = isSlow ? '{test,fuzz,trial,e2e}' : '{test,fuzz}';
  // Vitest compares !(…) with the beginning of the name only. Without the dot, it would leave out store-x.alone-y, too.
  const chosen = chosenOf(folders);
  const shared = chosen.map((folder) => `${folder}/**/!(@(${alone}).*).${suffixes}.ts`);
  const isolated = chosen.flatMap((folder) => [`${folder}/**/@(${alone}).${suffixes}.ts`, `${folder}/**/*.fault.ts`]);
  // One worker, because to load the modules takes longer than to run the tests. They need no bundled stack.
  const journey = {
    include: ['**/suite/http.e2e.ts', '**/*.journey.ts'],
    isolate: false,
    maxWorkers: 1,
    ...longTimeouts,
  };
  const whole = {
    globalSetup: beside('bundled-stack'),
    ...(isSlow && longTimeouts),
    projects: [
      // Without isolation, a worker loads each module only once, not again for each test file. Loading the CDK and
      // the SDK takes most of the running time of a test file.
      { test: { name: 'shared', include: shared, isolate: false } },
      { test: { name: 'isolated', include: isolated } },
    ],
  };
  return defineConfig(({ mode }) => ({ test: { ...testOptions(service), ...(mode === 'journey' ? journey : whole) } }));
};
