/** What a stranger gets: the client packed, and installed into an empty project, without a network. */
import { mkdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { run } from './local-service.ts';

/** Makes the project, in `folder`. @returns its path @throws Error with what npm said */
export const installClient = async (folder: string): Promise<string> => {
  const npm = async (...args: string[]) => {
    // npm's cache and its log are the test's own.
    const options = ['--offline', '--no-audit', '--no-fund', '--cache', path.join(folder, 'cache')];
    const { code, stderr } = await run('npm', [...args, ...options]).ended;
    if (code !== 0) throw new Error(stderr);
  };
  try {
    await npm('pack', './client', '--pack-destination', folder);
  } finally {
    // What is packed is built there.
    await rm('client/dist', { recursive: true, force: true });
  }
  const project = path.join(folder, 'project');
  await mkdir(project);
  await writeFile(path.join(project, 'package.json'), '{"type":"module"}');
  await npm('install', '--prefix', project, path.join(folder, 'plant-store-client-1.0.0.tgz'));
  return project;
};
