/** Packs the client and installs it into an empty project, as its users do, but without network access. */
import { cp, mkdir, readdir, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { run } from './local-service.ts';

/**
 * Installs the client in a project in `folder`. @returns the paths of the project and the tarball
 * @throws Error with npm's error output if npm fails
 */
export const installClient = async (folder: string): Promise<{ project: string; tarball: string }> => {
  const npm = async (...args: string[]) => {
    // With `--cache`, npm writes its cache and its log into the test's folder.
    const options = ['--offline', '--no-audit', '--no-fund', '--cache', path.join(folder, 'cache')];
    const { code, stderr } = await run('npm', [...args, ...options]).ended;
    if (code !== 0) throw new Error(stderr);
  };
  // Pack a copy, because `npm pack` builds in client/dist, where another test may be packing at the same time.
  const source = path.join(folder, 'source');
  for (const part of ['client', 'functions/generated/contract.ts', 'LICENSE', 'package.json', 'tsconfig.json']) {
    await cp(part, path.join(source, part), { recursive: true });
  }
  await symlink(path.resolve('node_modules'), path.join(source, 'node_modules'));
  await npm('pack', path.join(source, 'client'), '--pack-destination', folder);
  const packed = (await readdir(folder)).find((name) => name.endsWith('.tgz'));
  const tarball = path.join(folder, packed ?? 'no tarball');
  const project = path.join(folder, 'project');
  await mkdir(project);
  await writeFile(path.join(project, 'package.json'), '{"type":"module"}');
  await npm('install', '--prefix', project, tarball);
  return { project, tarball };
};
