import path from 'node:path';
import { makeFolders, type ProjectCopy, startIn } from '../../tools/release/project-copy.ts';

const root = path.resolve(import.meta.dirname, '../..');

/**
 * Copies all files that git does not ignore, and node_modules without its caches, which other tests change meanwhile.
 * The copy is a git repository, because some tests ask git for the project's files. A link to node_modules is not
 * enough: bundling tests compare real paths. Hard links take 2 s, copies up to 40 s; npm replaces a package's files
 * instead of changing them.
 */
const copying = `
packages='node_modules/* node_modules/.bin node_modules/.package-lock.json'
git ls-files -coz --exclude-standard | tar -c --null -T - | tar -x -C "$0" && git init --quiet "$0" &&
  mkdir "$0/node_modules" && { cp -al $packages "$0/node_modules" 2> /dev/null ||
    { rm -rf "$0/node_modules/"* && cp -a $packages "$0/node_modules"; }; }`;

/** Copies the project into `parent`, so that commands can run in the copy. */
export const copyProject = async (parent: string, signal: AbortSignal): Promise<ProjectCopy> => {
  const copy = await makeFolders(parent);
  const { ended, output } = startIn({ ...copy, folder: root }, ['sh', '-c', copying, copy.folder], signal);
  if ((await ended) !== 0) throw new Error(`The project cannot be copied:\n${output()}`);
  return copy;
};
