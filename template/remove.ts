import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';

/** Removes the npm scripts that run this folder's programs. */
const withoutScripts = (source: string): string => {
  const manifest = JSON.parse(source);
  for (const [name, command] of Object.entries<string>(manifest.scripts ?? {})) {
    if (/^node template\//.test(command)) delete manifest.scripts[name];
  }
  return `${JSON.stringify(manifest, null, 2)}\n`;
};

const withoutMarked = (source: string): string =>
  source.replaceAll(/^<!-- template -->\n.*?^<!-- \/template -->\n\n?/gms, '');

/** All that refers to this folder, each with the edit that removes the reference. */
const references: [file: string, edit: (source: string) => string][] = [
  ['package.json', withoutScripts],
  ['.ci/run', (source) => source.replace(/^.*\btemplate\/run\b.*\n/m, '')],
  ['README.md', withoutMarked],
  ['.github/CONTRIBUTING.md', withoutMarked],
];

/** Removes this folder from the project in the current folder, with all that refers to it, and stages the removal. */
export const removeTemplate = (): void => {
  for (const [file, edit] of references.filter(([file]) => existsSync(file))) {
    writeFileSync(file, edit(readFileSync(file, 'utf8')));
    execFileSync('git', ['add', '--', file]);
  }
  execFileSync('git', ['rm', '-r', '--quiet', '--force', '--ignore-unmatch', '--', 'template']);
  // `git rm` leaves node_modules behind, because git does not track it.
  rmSync('template', { recursive: true, force: true });
};
