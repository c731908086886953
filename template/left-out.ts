/**
 * The test files that `npm run guide` leaves out in its copy of the project, because an operation and a queue, which change
 * neither createPlant nor its data, cannot turn them red. Every file that is not listed stays. A whole `npm test` passes
 * there, too.
 */
import { globSync } from 'node:fs';

const leftOut = [
  'packages/{client,contract,emulator}/**',
  'packages/runtime/test/{auth,http}/**',
  'packages/tools/test/cli/stack-trace.test.ts',
  'packages/tools/test/release/{diff,diff/access,diff/verdict,project-copy}.test.ts',
  'packages/tools/test/{app,start/issuer,start/log-format,start/reloader,start/token-command}.test.ts',
  'packages/tools/test/start/watch.e2e.ts',
  '**/*.fuzz.ts',
  '**/*.{e2e,trial}.ts',
  'packages/tools/test/project/{editors,package-lock,workflows}.test.ts',
  'packages/cdk/test/github.test.ts',
  'test/plants/**',
  'packages/tools/test/cli/!(operation-options).test.ts',
  'packages/tools/test/release/{diff/loss,verify,version}.test.ts',
  'packages/tools/test/start/{session,start}.test.ts',
];

/** Vitest's options that leave out these files. @throws Error if a pattern matches no file, because it has moved */
export const leaveOut = (): string[] =>
  leftOut.map((files) => {
    if (globSync(files, { exclude: ['**/node_modules/**'] }).length === 0) throw new Error(`No file is ${files}.`);
    return `--exclude=${files}`;
  });
