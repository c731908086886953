/**
 * The test files that template/run and `npm run guide` leave out in their copies of the project, because what the copy
 * changes cannot turn them red, or because they take long and other files say the same. Files that depend on the
 * contract or the stack stay, and so does every file that is not listed. A whole `npm test` passes in the copies, too.
 *
 * `node template/left-out.ts contract` prints Vitest's options.
 */
import { globSync } from 'node:fs';

/** These know neither the contract nor the stack, or make both themselves. */
const unaffected = [
  'packages/{client,contract,emulator}/**',
  'packages/runtime/test/{auth,http}/**',
  'packages/tools/test/cli/stack-trace.test.ts',
  'packages/tools/test/release/{diff,diff/access,diff/verdict,project-copy}.test.ts',
  'packages/tools/test/{app,start/issuer,start/log-format,start/reloader,start/token-command}.test.ts',
  'packages/tools/test/start/watch.e2e.ts',
  '**/*.fuzz.ts',
];

const leftOut = {
  /**
   * With another name and other data. The end-to-end tests take most time: suite/function.lambda.test.ts has the rows of
   * http.e2e.ts, and the smoke test is the one trial whose data is written by hand.
   */
  contract: [...unaffected, '**/*.e2e.ts', '**/!(smoke-test).trial.ts', 'packages/cdk/test/version-role.test.ts'],
  /** With an operation and a queue, which change neither createPlant nor its data. */
  guide: [
    ...unaffected,
    '**/*.{e2e,trial}.ts',
    'packages/tools/test/project/{editors,package-lock,workflows}.test.ts',
    'packages/cdk/test/github.test.ts',
    'test/plants/**',
    'packages/tools/test/cli/!(operation-options).test.ts',
    'packages/tools/test/release/{diff/loss,verify,version}.test.ts',
    'packages/tools/test/start/{session,start}.test.ts',
  ],
};

/** Vitest's options that leave out these files. @throws Error if a pattern matches no file, because it has moved */
export const optionsFor = (copy: keyof typeof leftOut): string[] =>
  leftOut[copy].map((files) => {
    if (globSync(files, { exclude: ['**/node_modules/**'] }).length === 0) throw new Error(`No file is ${files}.`);
    return `--exclude=${files}`;
  });

if (import.meta.main) console.log(optionsFor('contract').join('\n'));
