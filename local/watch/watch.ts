/** `npm start -- --watch`: makes the local service use changed source files without a restart. */

import { ReloadQueue } from './reload-queue.ts';
import { Reloader, root, type Service } from './reloader.ts';
import { watchSources } from './sources.ts';

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
