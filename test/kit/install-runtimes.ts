/** Installs the runtimes of .ci/runtimes. Vitest calls this before it runs tests, and so not for `--help`. */
import { execFileSync } from 'node:child_process';

export const setup = (): void => {
  execFileSync('npm', ['install', '--prefix', '.ci/runtimes'], { stdio: 'inherit' });
};
