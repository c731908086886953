/** Installs the JavaScript runtimes of .ci/runtimes before tests run. Vitest does not call this for `--help`. */
import { execFileSync } from 'node:child_process';

export const setup = (): void => {
  execFileSync('npm', ['install', '--prefix', '.ci/runtimes'], { stdio: 'inherit' });
};
