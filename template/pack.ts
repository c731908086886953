/**
 * `node template/pack.ts <folder>` packs the platform's packages: JavaScript, types, source maps and sources. All get one
 * version, made of the commit's time (UTC) and a hash of the packed files, so no two builds that differ share a version.
 */
import { createHash } from 'node:crypto';
import { cpSync, globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { linkPackages } from '@lambda-service/tools/link-packages';
import { installed, withoutDeadLinks } from './new/platform.ts';
import { starterFor } from './new/sources.ts';
import { listFiles, root, run, write } from './project.ts';

type Dependencies = Record<string, string>;

/** The manifest of a package, as packed. */
export type Manifest = {
  name: string;
  version: string;
  license?: string;
  engines?: Dependencies;
  exports: string | Record<string, unknown>;
  bin?: Record<string, string>;
  dependencies?: Dependencies;
  peerDependencies?: Dependencies;
  devDependencies?: Dependencies;
  private?: boolean;
};

/** A packed package: its manifest, and the name of its tarball. */
export type Packed = { manifest: Manifest; tarball: string };

/** Copies the packages, and what the compiler needs, into `stage`. */
const copySources = (stage: string): string[] => {
  const files = listFiles('packages', ':(exclude,glob)packages/*/test/**');
  for (const file of [...files, 'package.json', 'client/package.json', 'tsconfig.json'])
    cpSync(path.join(root, file), path.join(stage, file));
  linkPackages(root, stage);
  return files;
};

const compile = (stage: string): void => {
  const compilerOptions = {
    ...{ noEmit: false, declaration: true, declarationMap: true, sourceMap: true, inlineSources: true },
    ...{ allowJs: true, rewriteRelativeImportExtensions: true, rootDir: 'packages', outDir: 'compiled' },
  };
  const project = { extends: './tsconfig.json', compilerOptions, include: ['packages'], exclude: ['**/page.js'] };
  write(path.join(stage, 'tsconfig.pack.json'), JSON.stringify(project));
  run(stage, 'node_modules/.bin/tsc', '-p', 'tsconfig.pack.json');
};

/** Makes a source map name the package's own src/, which is not where the compiler found the sources. */
const withOwnSources = (map: string, file: string): string => {
  const [, source = ''] = /([^/]*)$/.exec(JSON.parse(map).sources[0]) ?? [];
  const folder = path.dirname(file);
  const sources = [path.relative(path.join('dist', folder), path.join('src', folder, source))];
  return JSON.stringify({ ...JSON.parse(map), sourceRoot: '', sources });
};

const isCode = (file: string): boolean => /(?<!\.d)\.ts$|^(?:bin|node)\.js$/.test(file);

/** Puts the files of a package, without its manifest, into `target`. */
const assemble = (stage: string, folder: string, files: string[], target: string): void => {
  const compiled = path.join(stage, 'compiled', folder);
  for (const file of globSync('**/*.*', { cwd: compiled })) {
    const text = readFileSync(path.join(compiled, file), 'utf8');
    write(path.join(target, 'dist', file), file.endsWith('.map') ? withOwnSources(text, file) : text);
  }
  const own = files.map((file) => path.relative(`packages/${folder}`, file));
  const documents = new Set(own.filter((file) => file.endsWith('.md')));
  for (const file of own) {
    const from = path.join(stage, 'packages', folder, file);
    if (isCode(file)) cpSync(from, path.join(target, 'src', file));
    else if (file.endsWith('.md'))
      write(path.join(target, file), installed(withoutDeadLinks(file, readFileSync(from, 'utf8'), documents)));
    else if (!/(?:package|tsconfig)\.json$/.test(file)) cpSync(from, path.join(target, 'dist', file));
  }
  cpSync(path.join(root, 'LICENSE'), path.join(target, 'LICENSE'));
  // The command `upgrade` compares those of two versions.
  if (folder === 'tools') write(path.join(target, 'dist/starter.json'), JSON.stringify(starterFor()));
};

const built = (file: string): string => file.replace(/^(?:\.\/)?(.*)\.[jt]s$/, './dist/$1.js');

const doorOf = (file: unknown): unknown =>
  typeof file === 'string' ? { types: built(file).replace(/js$/, 'd.ts'), default: built(file) } : file;

/** Returns the manifest of a package as it is published. `ours` are the names of all packages. */
const publishedOf = ({ private: _, devDependencies: __, ...manifest }: Manifest, ours: string[], version: string) => ({
  engines: { node: '>=24.5' },
  ...manifest,
  version,
  files: ['dist', 'src', '*.md'],
  exports:
    typeof manifest.exports === 'string'
      ? doorOf(manifest.exports)
      : Object.fromEntries(Object.entries(manifest.exports).map(([door, file]) => [door, doorOf(file)])),
  ...(manifest.bin && {
    bin: Object.fromEntries(Object.entries(manifest.bin).map(([name, file]) => [name, built(file).slice(2)])),
  }),
  dependencies: Object.fromEntries(
    Object.entries(manifest.dependencies ?? {}).map(([name, range]) => [name, ours.includes(name) ? version : range]),
  ),
});

const versionOf = (base: string, folder: string): string => {
  const hash = createHash('sha256');
  for (const file of globSync('**/*.*', { cwd: folder }).sort())
    hash.update(file).update(readFileSync(path.join(folder, file)));
  const time = new Date(run(root, 'git', 'log', '-1', '--format=%cI').trim()).toISOString();
  return `${base}-${time.replaceAll(/\D/g, '').slice(0, 14)}.h${hash.digest('hex').slice(0, 8)}`;
};

/** Packs all packages into `target`, an existing folder. */
export const packPackages = (target: string): Packed[] => {
  const stage = mkdtempSync(path.join(os.tmpdir(), 'service-pack-'));
  try {
    const files = copySources(stage);
    compile(stage);
    const folders = [...new Set(files.map((file) => file.split('/')[1] ?? ''))];
    const published = path.join(stage, 'published');
    const manifests = folders.map((folder): [string, Manifest] => {
      assemble(
        stage,
        folder,
        files.filter((file) => file.startsWith(`packages/${folder}/`)),
        path.join(published, folder),
      );
      const text = readFileSync(path.join(stage, 'packages', folder, 'package.json'), 'utf8');
      write(path.join(published, folder, 'package.json'), text);
      return [folder, JSON.parse(text)];
    });
    const version = versionOf(manifests[0]?.[1].version ?? '', published);
    const names = manifests.map(([, { name }]) => name);
    const packed = manifests.map(([folder, source]) => {
      const manifest = publishedOf(source, names, version) as Manifest;
      write(path.join(published, folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
      return { folder, manifest, tarball: `${manifest.name.replace('@', '').replace('/', '-')}-${version}.tgz` };
    });
    const places = folders.map((folder) => `./${folder}`);
    run(
      published,
      'npm',
      'pack',
      ...places,
      '--pack-destination',
      path.resolve(target),
      '--ignore-scripts',
      '--silent',
    );
    return packed;
  } finally {
    rmSync(stage, { recursive: true });
  }
};

if (import.meta.main) for (const { tarball } of packPackages(process.argv[2] ?? '')) console.log(tarball);
