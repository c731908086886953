import path from 'node:path';

/** The name of the npm package in a folder of packages/. */
const packageIn = (folder: string): string =>
  ({ contract: 'openapi-contract', emulator: 'http-api-emulator' })[folder] ?? `@lambda-service/${folder}`;

/** The version before the first release. `npm version minor` then makes 0.2.0, and `npm version major` 1.0.0. */
export const firstVersion = '0.1.0';

/** Names the files of the packages where npm installs them: programs in dist/, sources in src/, documents above both. */
const installed = (source: string): string =>
  source
    .replaceAll(
      /\bnode packages\/(\w+)\/([\w/-]+)\.ts/g,
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

/** Replaces links to files that a service does not have by their texts. */
const withoutDeadLinks = (file: string, source: string, files: Set<string>): string =>
  source.replaceAll(/!?\[((?:[^\]]|\]\()*?)\]\((?![a-z]+:)([^)\s#]+)[^)\s]*\)/g, (link, text, target) => {
    const to = path.join(path.dirname(file), target);
    const exists =
      to.startsWith('node_modules/') || [...files].some((each) => each === to || each.startsWith(`${to}/`));
    return exists ? link : text;
  });

/** Makes a file of this project a file of a service that has `files`, and the packages from npm. */
export const forService = (file: string, source: string, files: Set<string>): string => {
  if (file === 'schemas/openapi.yaml') return source.replace(/(?<=^ {2}version: ).*$/m, firstVersion);
  const own = installed(source);
  return file.endsWith('.md') ? withoutDeadLinks(file, own, files) : own;
};
