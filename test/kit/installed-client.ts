/** Packs the client and installs it into an empty project, as its users do, but without network access. */
import { mkdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { run } from './local-service.ts';

/** Makes the project in `folder`. @returns the project's path @throws Error with npm's error output */
export const installClient = async (folder: string): Promise<string> => {
  const npm = async (...args: string[]) => {
    // npm writes its cache and its log into the test's folder.
    const options = ['--offline', '--no-audit', '--no-fund', '--cache', path.join(folder, 'cache')];
    const { code, stderr } = await run('npm', [...args, ...options]).ended;
    if (code !== 0) throw new Error(stderr);
  };
  try {
    await npm('pack', './client', '--pack-destination', folder);
  } finally {
    // `npm pack` builds the package in client/dist.
    await rm('client/dist', { recursive: true, force: true });
  }
  const project = path.join(folder, 'project');
  await mkdir(project);
  await writeFile(path.join(project, 'package.json'), '{"type":"module"}');
  await npm('install', '--prefix', project, path.join(folder, 'plant-store-client-1.0.0.tgz'));
  return project;
};
