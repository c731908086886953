/** `node packages/tools/release/link-packages.ts <folder>` gives a copy of this project the packages that are installed here. */
import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import path from 'node:path';

/**
 * Makes node_modules in `copy`, which is a copy of `project`, or of one of its earlier commits. It has links to the
 * packages installed in `project`, and to the copy's own workspaces: with other links, the copy would run our code. For
 * the same reason, it has its own versions of packages whose tarballs are files of the project.
 */
export const linkPackages = (project: string, copy: string): void => {
  const [from, to] = [path.join(project, 'node_modules'), path.join(copy, 'node_modules')];
  const link = (name: string, target: string) => {
    mkdirSync(path.dirname(path.join(to, name)), { recursive: true });
    symlinkSync(realpathSync(target), path.join(to, name));
  };
  const today = tarballsOf(project);
  const older = Object.entries(tarballsOf(copy)).filter(([name, tarball]) => today[name] !== tarball);
  for (const [name, tarball] of older) {
    const target = path.join(to, name);
    mkdirSync(target, { recursive: true });
    execFileSync('tar', ['-xzf', path.join(copy, tarball), '--strip-components=1', '-C', target]);
  }
  const own = new Set([...workspacesOf(project).keys(), ...older.map(([name]) => name)]);
  const installed = globSync(['[!.@]*', '@*/*'], { cwd: from }).filter((name) => !own.has(name));
  for (const name of installed) link(name, path.join(from, name));
  for (const [name, folder] of workspacesOf(copy)) link(name, path.join(copy, folder));
  // Copy what programs change. The links in .bin are relative, so they lead to the copy's packages.
  for (const name of ['.bin', '.package-lock.json'].filter((name) => existsSync(path.join(from, name))))
    cpSync(path.join(from, name), path.join(to, name), { recursive: true, verbatimSymlinks: true });
  for (const [name] of older) {
    const { bin = {} }: { bin?: Record<string, string> } = JSON.parse(
      readFileSync(path.join(to, name, 'package.json'), 'utf8'),
    );
    for (const [command, file] of Object.entries(bin)) {
      const place = path.join(to, '.bin', command);
      mkdirSync(path.dirname(place), { recursive: true });
      rmSync(place, { force: true });
      symlinkSync(path.join('..', name, file), place);
      chmodSync(place, 0o755);
    }
  }
  // Node.js replaces files of its compile cache instead of changing them, so hard links will do. If there is no cache,
  // or another program removes a file meanwhile, programs only start half a second later.
  spawnSync('cp', ['-Rl', path.join(from, '.cache'), to]);
};

type Pins = Record<string, string>;

/** Returns the tarballs in a project that its manifest names, by the names of the packages. */
const tarballsOf = (project: string): Pins => {
  const { dependencies = {}, devDependencies = {} }: { dependencies?: Pins; devDependencies?: Pins } = JSON.parse(
    readFileSync(path.join(project, 'package.json'), 'utf8'),
  );
  const files = Object.entries({ ...dependencies, ...devDependencies }).filter(([, pin]) => /^file:.*\.tgz$/.test(pin));
  return Object.fromEntries(files.map(([name, pin]) => [name, pin.slice('file:'.length)]));
};

/** Returns the folders of a project's workspaces, relative to the project, by the names in their manifests. */
const workspacesOf = (project: string): Map<string, string> => {
  const manifestOf = (folder: string) => JSON.parse(readFileSync(path.join(project, folder, 'package.json'), 'utf8'));
  const { workspaces = [] }: { workspaces?: string[] } = manifestOf('.');
  const manifests = globSync(
    workspaces.map((pattern) => `${pattern}/package.json`),
    { cwd: project },
  );
  return new Map(manifests.map(path.dirname).map((folder) => [manifestOf(folder).name, folder]));
};

if (import.meta.main) linkPackages('.', process.argv[2] ?? '');
