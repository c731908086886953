/**
 * Tests how `npm ci` and the commands find Node.js: npm itself exits with 0 even if the Node.js package has a wrong
 * hash.
 */
import { hash } from 'node:crypto';
import { chmod, copyFile, mkdir, mkdtemp, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileFolder, run } from '@lambda-service/testing/programs';
import { expect, test } from 'vitest';
import packageJson from '../../../package.json' with { type: 'json' };

const version = process.versions.node;
const name = `node-${process.platform}-${process.arch}`;
const packaged = `node_modules/${name}/bin/node`;
// Resolve symbolic links, because this path is compared with process.execPath, which contains none. On macOS, the
// temporary folder is a symbolic link.
const folder = await realpath(await fileFolder());

/** Creates a project with this repository's npm settings and scripts, and with the given optional dependencies. */
const createProject = async (optionalDependencies: Record<string, string>): Promise<string> => {
  const project = await mkdtemp(path.join(folder, 'project-'));
  const write = async (file: string, content: string) => {
    await mkdir(path.dirname(path.join(project, file)), { recursive: true });
    await writeFile(path.join(project, file), content);
  };
  const { prepare, start } = packageJson.scripts;
  const [compiler = '', ...own] = prepare.match(/\S+\.c?[jt]s/g)?.toReversed() ?? [];
  await write('package.json', JSON.stringify({ type: 'module', scripts: { prepare, start }, optionalDependencies }));
  await write('.node-version', `${version}\n`);
  await write(
    compiler,
    `import { mkdirSync, writeFileSync } from 'node:fs';
    mkdirSync('functions/generated', { recursive: true });
    writeFileSync('functions/generated/by', process.execPath);`,
  );
  await write('cdk.json', '{}');
  await write('packages/tools/main.ts', 'export const main = () => console.log(process.execPath);');
  for (const file of ['.npmrc', 'packages/tools/bin.js', 'packages/tools/node.js', ...own]) {
    await write(file, '');
    await copyFile(file, path.join(project, file));
  }
  return project;
};

const manifest = { version, os: [process.platform], cpu: [process.arch], bin: { node: 'bin/node' } };
const mark = path.join(folder, 'forged-node-ran');

/** Packs an npm package that contains Node.js. @returns the hash of the package, which is a .tgz file */
const pack = async (file: string, script: string): Promise<string> => {
  const place = await mkdtemp(path.join(folder, 'package-'));
  await mkdir(path.join(place, 'package/bin'), { recursive: true });
  await writeFile(path.join(place, 'package/package.json'), JSON.stringify({ name, ...manifest }));
  await writeFile(path.join(place, 'package/bin/node'), script, { mode: 0o755 });
  await run('tar', ['-czf', file, '-C', place, 'package']).ended;
  return `sha512-${hash('sha512', await readFile(file), 'base64')}`;
};

/** Runs `npm ci`. The lock file has the hash of the genuine package. */
const install = async (kind: 'genuine' | 'forged', ...options: string[]) => {
  // A small script stands in for the 120 MB binary: it starts the Node.js that runs this test, but as its own path.
  const disguise = path.join(folder, 'stand-in.cjs');
  await writeFile(disguise, "Object.defineProperty(process, 'execPath', { value: process.env.STAND_IN });");
  const standIn = `STAND_IN=$(readlink -f "$0") exec '${process.execPath}' --require '${disguise}' "$@"`;
  const integrity = await pack(path.join(folder, 'genuine.tgz'), `#!/bin/sh\n${standIn}\n`);
  await pack(path.join(folder, 'forged.tgz'), `#!/bin/sh\ntouch '${mark}'\n${standIn}\n`);
  const resolved = `file:../${kind}.tgz`;
  const optionalDependencies = { [name]: resolved };
  const project = await createProject(optionalDependencies);
  const entry = { ...manifest, resolved, optional: true, integrity };
  const packages = { '': { optionalDependencies }, [`node_modules/${name}`]: entry };
  await writeFile(path.join(project, 'package-lock.json'), JSON.stringify({ lockfileVersion: 3, packages }));
  // npm itself runs on the Node.js of this machine.
  const PATH = (process.env['PATH'] ?? '').replaceAll(/[^:]*\/node_modules\/[^:]*:?/g, '');
  const npm = (...args: string[]) =>
    run('npm', [...args, '--prefix', project, '--cache', path.join(project, 'cache')], { PATH }).ended;
  const installed = await npm('ci', '--no-audit', ...options);
  // npm does so for a workspace.
  const bin = path.join(project, 'node_modules/.bin/lambda-service');
  await mkdir(path.dirname(bin), { recursive: true });
  await symlink('../../packages/tools/bin.js', bin);
  await chmod(path.join(project, 'packages/tools/bin.js'), 0o755);
  const compiledBy = () => readFile(path.join(project, 'functions/generated/by'), 'utf8').catch(() => 'nobody');
  return { ...installed, project, npm, compiledBy, binary: path.join(project, packaged) };
};

test('npm ci and npm start fail if the package that contains Node.js is forged, although npm only leaves it out', async () => {
  const { code, stderr, npm, compiledBy } = await install('forged');
  const sentence = `needs Node.js ${version} from node_modules/${name}, `;
  expect(stderr).toContain(sentence);
  expect([code, await compiledBy()]).toEqual([1, 'nobody']);
  expect(await npm('-s', 'start')).toEqual({ code: 1, stdout: '', stderr: expect.stringContaining(sentence) });
  await expect(readFile(mark)).rejects.toThrow('ENOENT');
});

test('npm ci uses the pinned Node.js, and so does npm start, even if npm has removed the link to Node.js', async () => {
  const { project, npm, compiledBy, binary } = await install('genuine');
  expect(await compiledBy()).toBe(binary);
  await rm(path.join(project, 'node_modules/.bin/node'));
  expect(await npm('-s', 'start')).toMatchObject({ code: 0, stdout: `${binary}\n` });
});

/**
 * Prepares a project on a Node.js that claims to have the given properties of `process`. There, npm has installed
 * `executable` as Node.js. @returns the error output
 */
const prepareOn = async (properties: Record<string, string>, executable: string): Promise<string> => {
  const project = await createProject({ [name]: version });
  const binary = path.join(project, packaged);
  await mkdir(path.dirname(binary), { recursive: true });
  await writeFile(binary, executable, { mode: 0o755 });
  const { node = version, ...others } = properties;
  const values = { versions: { ...process.versions, node }, ...others };
  const described = Object.entries(values).map(([key, value]) => [key, { value }]);
  const preload = path.join(project, 'disguise.cjs');
  await writeFile(preload, `Object.defineProperties(process, ${JSON.stringify(Object.fromEntries(described))});`);
  const script = `cd '${project}' && '${process.execPath}' --require ./disguise.cjs packages/tools/bin.js link-node`;
  return (await run('sh', ['-c', script]).ended).stderr;
};

test('every Node.js prepares the pinned one of the npm package, but no other one in that package', async () => {
  expect(await prepareOn({ node: '20.0.0' }, `#!/bin/sh\necho v${version}\n`)).toBe('');
  const needed = `This service needs Node.js ${version} from node_modules/${name}, but that is v24.0.0: `;
  expect(await prepareOn({}, '#!/bin/sh\necho v24.0.0\n')).toContain(needed);
});

test.each<[where: string, disguise: Record<string, string>, executable: string]>([
  ['a platform without a package', { platform: 'other' }, `#!/bin/sh\necho v${version}\n`],
  // This binary fails as the real one does on Alpine Linux: execve returns ENOENT although the file exists.
  ['Alpine Linux, which lacks the loader of the binary', {}, '#!/lib64/ld-linux-of-none.so.2\n'],
])('on %s, every Node.js of the pinned major is accepted, and no other', async (_, disguise, executable) => {
  const major = Number(version.split('.')[0]);
  expect(await prepareOn({ ...disguise, node: `${major}.0.0` }, executable)).toBe('');
  const needed = `This service needs Node.js ${major}, but this is `;
  expect(await prepareOn({ ...disguise, node: `${major - 1}.0.0` }, executable)).toContain(needed);
});
