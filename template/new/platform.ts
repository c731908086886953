import path from 'node:path';

/** The name of the npm package in a folder of packages/. */
const packageIn = (folder: string): string =>
  ({ contract: 'openapi-contract', emulator: 'http-api-emulator' })[folder] ?? `@lambda-service/${folder}`;

/** The version before the first release. `npm version minor` then makes 0.2.0, and `npm version major` 1.0.0. */
export const firstVersion = '0.1.0';

/** Names the files of the packages where npm installs them: programs in dist/, sources in src/, documents above both. */
export const installed = (source: string): string =>
  source
    .replaceAll(
      /\bnode packages\/(\w+)\/([\w/-]+)\.[jt]s/g,
      (_, folder, file) => `node node_modules/${packageIn(folder)}/dist/${file}.js`,
    )
    .replaceAll(
      /(?<![\w*])packages\/(\w+)\/([\w/-]+\.ts)/g,
      (_, folder, file) => `node_modules/${packageIn(folder)}/src/${file}`,
    )
    .replaceAll(
      /(?<![\w*])packages\/(\w+)\/((?:[\w-]+\/)+)(?![\w.])/g,
      (_, folder, inner) => `node_modules/${packageIn(folder)}/src/${inner}`,
    )
    .replaceAll(/(?<![\w*])packages\/(\w+)(?=[/`)])/g, (_, folder) => `node_modules/${packageIn(folder)}`);

/** Replaces links to files that are not among `files` by their texts. */
export const withoutDeadLinks = (file: string, source: string, files: Set<string>): string =>
  source.replaceAll(/!?\[([^\][]*)\]\((?![a-z]+:)([^)\s#]+)[^)\s]*\)/g, (link, text, target) => {
    const to = path.join(path.dirname(file), target);
    const exists =
      to.startsWith('node_modules/') || [...files].some((each) => each === to || each.startsWith(`${to}/`));
    return exists ? link : text;
  });

type Edit = [before: RegExp, after: string];

/** Changes to copied files, besides renaming. */
const edits: Record<string, Edit[]> = {
  'schemas/openapi.yaml': [[/(?<=^ {2}version: ).*$/m, firstVersion]],
  'CHANGELOG.md': [[/(?<=^## Unreleased\n).*/ms, '']],
  '.gitignore': [
    [/^sbom.*\n/m, ''],
    [/^\.prove.*\n/m, ''],
    [/$/, '!vendor/*.tgz\n'],
  ],
  'tsconfig.json': [[/"packages", /, '']],
  'client/tsconfig.json': [[/, "\.\.\/packages\/client\/\*\.ts"/, '']],
  '.github/dependabot.yml': [
    [/"\/\.ci", "\/\*"/, '"/client"'],
    [/, and the client is tested on 20, the oldest that it\n\s*# supports/, ''],
  ],
  'client/README.md': [[/^Tested on .*\n\n/m, '']],
  // The commit before a service's own commits had its packages, too.
  '.github/workflows/diff.yml': [
    [/ A base without github\.ts.*/, ''],
    [/if git cat-file .*; then (.*); fi/, '$1'],
    [/.*# Any address.*\n/, ''],
  ],
  'docs/README.md': [[/, \[get help\]\([^)]*\)/, '']],
};

/** @throws Error if an edit changes nothing, because the file is not as it was */
const edited = (file: string, source: string): string =>
  (edits[file] ?? []).reduce((text, [before, after]) => {
    if (!before.test(text)) throw new Error(`${file} does not have ${before}.`);
    return text.replace(before, after);
  }, source);

/** Makes a file of this project a file of a service that has `files`, and the packages from npm. */
export const forService = (file: string, source: string, files: Set<string>): string => {
  const own = installed(edited(file, source));
  return file.endsWith('.md') ? withoutDeadLinks(file, own, files) : own;
};
