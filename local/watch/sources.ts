import { once } from 'node:events';
import path from 'node:path';
import { watch } from 'chokidar';

/**
 * Whether a file is a source, and not an editor's temporary file, whose name begins with a dot, or ends in `.swp`, `~`
 * or the like.
 */
const isSource = (file: string): boolean => /^[^.].*\.(?:ts|js|json|yaml)$/.test(path.basename(file));

/**
 * Folders that are not watched: functions/generated is made from the contract, and only tests read schemas/released.
 */
const ignored = ['functions/generated', 'schemas/released'];

/**
 * Watches the sources of the service in `root`. fs.watch is not enough: on Linux it loses a file that an editor
 * replaces.
 * @param onChange is called with the path, relative to `root`, of each file that is changed, added or removed
 * @returns a function that stops the watching
 */
export const watchSources = async (root: string, onChange: (file: string) => void): Promise<() => Promise<void>> => {
  const folders = ['functions', 'infra', 'schemas'].map((folder) => path.join(root, folder));
  const watcher = watch(folders, {
    ignoreInitial: true,
    ignored: (file, stats) =>
      ignored.includes(path.relative(root, file)) || (stats?.isFile() === true && !isSource(file)),
  });
  watcher.on('all', (event, file) => event.endsWith('Dir') || onChange(path.relative(root, file)));
  await once(watcher, 'ready');
  return () => watcher.close();
};
