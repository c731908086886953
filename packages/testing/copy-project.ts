import path from 'node:path';
import { makeFolders, type ProjectCopy, startIn } from '@lambda-service/tools/checkouts';
import { linkPackages } from '@lambda-service/tools/link-packages';
import { startLimit } from './trial/scale.ts';

const root = process.cwd();

/**
 * Copies all files that git does not ignore. The copy is a git repository, because some tests ask git for its files.
 */
const copying = 'git ls-files -coz --exclude-standard | tar -c --null -T - | tar -x -C "$0" && git init --quiet "$0"';

/** Copies the project into `parent`, so that commands can run in the copy. */
export const copyProject = async (parent: string, signal = AbortSignal.timeout(startLimit)): Promise<ProjectCopy> => {
  const copy = await makeFolders(parent);
  const { ended, output } = startIn({ ...copy, folder: root }, ['sh', '-c', copying, copy.folder], signal);
  if ((await ended) !== 0) throw new Error(`The project cannot be copied:\n${output()}`);
  linkPackages(root, copy.folder);
  return copy;
};

/** The variable with which the programs of a copy use its own compile cache, so that the project's does not grow. */
export const ownCache = ({ folder }: ProjectCopy) => ({
  NODE_COMPILE_CACHE: path.join(folder, 'node_modules/.cache/node'),
});
