/** `npm start -- --watch`: makes the local service use changed source files without a restart. */
import { once } from 'node:events';
import path from 'node:path';
import { watch } from 'chokidar';
import { ReloadQueue } from './reload-queue.ts';
import { Reloader, root, type Service } from './reloader.ts';

/**
 * Whether a file is a source file. An editor's temporary file is not: its name begins with a dot, or ends in `.swp`,
 * `~` or the like.
 */
const isSource = (file: string): boolean => /^[^.].*\.(?:ts|js|json|yaml)$/.test(path.basename(file));

/**
 * Folders that are not watched: functions/generated is made from the contract, and only tests read schemas/released.
 */
const ignored = ['functions/generated', 'schemas/released'];

/**
 * Watches the service's source files in `root` with chokidar. On Linux, fs.watch would lose track of a file that an
 * editor replaces.
 * @param onChange is called with the path, relative to `root`, of each file that is changed, added or removed. A new
 * file or folder in a new folder may be missed until something directly in that new folder changes; for a missed file,
 * saving it again is enough (https://github.com/paulmillr/chokidar/issues/1471).
 * @returns a function that stops watching
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

/**
 * Starts watching the source files. Files that change are then reloaded into the running service.
 * @returns a function that stops watching
 */
export const startWatching = async (service: Service): Promise<() => Promise<void>> => {
  const reloader = new Reloader(service);
  const queue = new ReloadQueue((files) => reloader.reload(files));
  const close = await watchSources(root, (file) => queue.add(file));
  await queue.begin();
  return async () => {
    queue.close();
    await Promise.all([close(), reloader.close()]);
  };
};
