/**
 * Run by `npm version <major|minor|patch>` before it commits and tags: writes the new version into the contract, the
 * client if there is one, and the changelog, and copies the contract to `schemas/released/`.
 */
import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';

const root = path.resolve();
const version = process.env['npm_package_version'];
if (!version) {
  console.error('Run npm version <major|minor|patch>, which runs this script.');
  process.exit(1);
}

const today = new Date().toISOString().slice(0, 10);
const changes: [file: string, text: RegExp, by: string][] = [
  ['CHANGELOG.md', /^## Unreleased\n\n(?=### )/m, `## Unreleased\n\n## ${version} – ${today}\n\n`],
  ['schemas/openapi.yaml', /^ {2}version: .*$/m, `  version: ${version}`],
];
if (existsSync(path.join(root, 'client')))
  changes.push(
    ['package-lock.json', /(?<="client": \{\n.*\n {6}"version": )".*"/, `"${version}"`],
    ['client/package.json', /^ {2}"version": ".*",$/m, `  "version": "${version}",`],
  );
const released = changes.map(([file, text, by]): [file: string, content: string] => {
  const before = readFileSync(path.join(root, file), 'utf8');
  if (!text.test(before)) {
    console.error(
      `${file} does not contain ${text}, so nothing was changed. Undo the change of npm itself: git checkout package.json package-lock.json`,
    );
    process.exit(1);
  }
  return [path.join(root, file), before.replace(text, by)];
});
for (const [file, content] of released) writeFileSync(file, content);
mkdirSync(path.join(root, 'schemas/released'), { recursive: true });
copyFileSync(path.join(root, 'schemas/openapi.yaml'), path.join(root, `schemas/released/${version}.yaml`));
execFileSync('git', ['add', ...changes.map(([file]) => file), 'schemas'], { cwd: root });
