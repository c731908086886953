import { execFileSync } from 'node:child_process';

/** Settings of git for each command, so that a commit does not depend on the settings of whoever runs the tests. */
const settings = ['user.name=A', 'user.email=a@a.example', 'commit.gpgSign=false', 'tag.gpgSign=false'];

/** Runs git in a folder. @returns what it prints */
export const git = (folder: string, ...args: string[]): string => {
  const options = settings.flatMap((setting) => ['-c', setting]);
  const stdio: ['ignore', 'pipe', 'ignore'] = ['ignore', 'pipe', 'ignore'];
  return execFileSync('git', [...options, ...args], { cwd: folder, encoding: 'utf8', stdio }).trim();
};

export const commitAll = (folder: string): void => {
  git(folder, 'add', '--all');
  git(folder, 'commit', '--quiet', '--message', 'a commit');
};
