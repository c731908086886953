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

/** The version before the first release. `npm version minor` then makes 0.2.0, and `npm version major` 1.0.0. */
const firstVersion = '0.1.0';

/** Sets the versions that `npm version` changes, in a manifest or in package-lock.json. */
const withFirstVersion = (source: string): string => {
  const manifest = JSON.parse(source);
  const { '': root, client } = manifest.packages ?? {};
  for (const each of [manifest, root, client]) if (each?.version !== undefined) each.version = firstVersion;
  return `${JSON.stringify(manifest, null, 2)}\n`;
};

const withoutMarked = (source: string): string =>
  source.replaceAll(/^<!-- template -->\n.*?^<!-- \/template -->\n\n?/gms, '');

/** The files that refer to this folder or say what it has released, each with the edit that removes that. */
const edits: [file: string, edit: (source: string) => string][] = [
  ['package.json', (source) => withFirstVersion(withoutScripts(source))],
  ['package-lock.json', withFirstVersion],
  ['client/package.json', withFirstVersion],
  ['schemas/openapi.yaml', (source) => source.replace(/(?<=^ {2}version: ).*$/m, firstVersion)],
  ['CHANGELOG.md', (source) => source.replace(/(?<=^## Unreleased\n).*/ms, '')],
  ['.ci/run', (source) => source.replace(/^.*\btemplate\/run\b.*\n/m, '')],
  ['README.md', withoutMarked],
  ['AGENTS.md', withoutMarked],
  ['docs/prove.md', withoutMarked],
];

/**
 * Removes what only the template's repository needs from the project in the current folder: this folder, all that
 * refers to it, and its releases. Stages the removal.
 */
export const removeTemplate = (): void => {
  for (const [file, edit] of edits.filter(([file]) => existsSync(file))) {
    writeFileSync(file, edit(readFileSync(file, 'utf8')));
    execFileSync('git', ['add', '--', file]);
  }
  execFileSync('git', ['rm', '-r', '--quiet', '--force', '--ignore-unmatch', '--', 'template', 'schemas/released']);
  // `git rm` leaves node_modules behind, because git does not track it.
  rmSync('template', { recursive: true, force: true });
};
