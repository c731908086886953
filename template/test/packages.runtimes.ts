/** Checks the packed packages with linters, and serves a small CDK app with the emulator in an empty project. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { reasonToSkip } from '../contract.ts';
import { changelogFile, interfaceFile, lastRelease, readInterface, releaseAt, textOf, unsaid } from '../interface.ts';
import { packPackages } from '../pack.ts';

const run = promisify(execFile);

const root = path.resolve();
const modules = path.join(root, 'node_modules');
const tools = path.resolve('.ci/node_modules');

const folder = await mkdtemp(path.join(os.tmpdir(), 'packages-test-'));
const project = path.join(folder, 'project');
const packed = packPackages(folder);

/** Unpacks a package into the project. @returns its folder */
const unpack = async (name: string): Promise<string> => {
  const installed = path.join(project, 'node_modules', name);
  await mkdir(installed, { recursive: true });
  const tarball = packed.find(({ manifest }) => manifest.name === name)?.tarball ?? '';
  await run('tar', ['-xzf', path.join(folder, tarball), '-C', installed, '--strip-components=1']);
  return installed;
};

afterAll(() => rm(folder, { recursive: true }));

test('all packages have one version, which no other build has, and name each other by it', async () => {
  const versions = new Set(packed.map(({ manifest }) => manifest.version));
  const [version = ''] = versions;
  expect(version).toMatch(/^\d+\.\d+\.\d+-\d{14}\.h[0-9a-f]{8}$/);
  expect([...versions]).toEqual([version]);
  const names = packed.map(({ manifest }) => manifest.name);
  for (const { manifest } of packed)
    for (const [name, range] of Object.entries({ ...manifest.dependencies, ...manifest.peerDependencies }))
      if (names.includes(name)) expect(range, `${manifest.name} needs ${name}`).toBe(version);
});

// A team's own contract has other tables and functions.
test.skipIf(reasonToSkip())(
  'the public interface is the one in template/interface.txt, and the changelog says what has broken since the last release',
  async () => {
    const text = textOf(await readInterface(folder));
    expect(await readFile(interfaceFile, 'utf8'), 'Run node template/interface.ts, and read what it changes.').toBe(
      text,
    );
    const changelog = await readFile(changelogFile, 'utf8');
    const advice = `Name each under "### Breaking" in ${changelogFile}, and say what a service must do.`;
    expect(unsaid(releaseAt(lastRelease), { text, changelog }), advice).toEqual([]);
  },
);

describe.each(packed)('$manifest.name', ({ manifest: { name }, tarball }) => {
  test('passes publint and attw', async () => {
    const file = path.join(folder, tarball);
    const publint = await run(process.execPath, [path.join(tools, 'publint/src/cli.js'), 'run', file, '--strict'], {
      env: { ...process.env, NO_COLOR: '1' },
    });
    expect(publint.stdout).toMatch(/\nAll good!\n$/);
    const attw = path.join(tools, '@arethetypeswrong/cli/dist/index.js');
    // `run` rejects if attw finds problems.
    await run(process.execPath, [attw, file, '--profile', 'esm-only']);
  });

  test('has README and licence, maps with sources that it contains, no test, and no path of this repository', async () => {
    const installed = await unpack(name);
    const files = await readdir(installed, { recursive: true });
    expect(files).toEqual(expect.arrayContaining(['README.md', 'LICENSE', 'dist', 'src']));
    expect(files.filter((file) => /(?:^|\/)test\//.test(file))).toEqual([]);
    for (const file of files.filter((each) => each.endsWith('.map'))) {
      const { sources, sourcesContent } = JSON.parse(await readFile(path.join(installed, file), 'utf8'));
      const source = await readFile(path.join(installed, path.dirname(file), sources[0]), 'utf8');
      if (file.endsWith('.js.map')) expect(sourcesContent).toEqual([source]);
    }
    for (const file of files.filter((each) => each.endsWith('.md')))
      for (const [, link = ''] of (await readFile(path.join(installed, file), 'utf8')).matchAll(/\]\(([^):#]+)[)#]/g))
        expect(files, `${file} links to it`).toContain(path.join(path.dirname(file), link));
    for (const file of files.filter((each) => /\.(?:[jt]s|json|map|md)$/.test(each)))
      expect(await readFile(path.join(installed, file), 'utf8'), file).not.toContain(root);
  });
});

/** Runs a program that serves the example app, and sends a request to the address that it prints. */
const ask = async (...args: string[]): Promise<string> => {
  // The CDK's command line sets this variable.
  const env = { CDK_OUTDIR: 'cdk.out', ...process.env };
  const child = spawn(process.execPath, args, { cwd: project, env, stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const [line] = await Promise.race([once(child.stdout, 'data'), once(child, 'exit')]);
  const url = /http:\S+/.exec(String(line))?.[0];
  if (url === undefined) throw new Error(`${args[0]} printed or exited with: ${line}`);
  const answer = await (await fetch(`${url}/hello/Ann`)).text();
  child.kill();
  await once(child, 'exit');
  return answer;
};

/** Installs packages in the project. */
const install = async (names: string[]): Promise<void> => {
  for (const name of names) {
    const link = path.join(project, 'node_modules', name);
    await mkdir(path.dirname(link), { recursive: true });
    await symlink(path.join(modules, name), link);
  }
};

const compile = async (include: string[], skipLibCheck: boolean): Promise<void> => {
  const options = { strict: true, noEmit: true, allowImportingTsExtensions: true, module: 'nodenext' };
  const compilerOptions = { ...options, target: 'es2024', types: ['node'], skipLibCheck };
  await writeFile(path.join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions, include }));
  await run(process.execPath, [path.join(modules, 'typescript/bin/tsc'), '-p', project, '--singleThreaded']);
};

test('the packed emulator tells an old Node.js which one it needs', async () => {
  const node20 = path.join(tools, `node-linux-${process.arch}/bin/node`);
  const bin = path.join(await unpack('http-api-emulator'), 'dist/command/bin.js');
  await expect(run(node20, [bin])).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^http-api-emulator needs Node.js 24\.5 or newer, but this is v20\.\S+ \(.*\)\.\n$/),
  });
});

test('the packed emulator has the dependencies that it needs, includes types, and serves the example app of its README', async () => {
  const installed = await unpack('http-api-emulator');
  const manifest = JSON.parse(await readFile(path.join(installed, 'package.json'), 'utf8'));
  const bin = path.join(installed, manifest.bin['http-api-emulator']);
  const readme = await readFile(path.join(installed, 'README.md'), 'utf8');
  for (const [, file = '', code = ''] of readme.matchAll(/^```\w+ (\S+)\n(.*?)^```/gms)) {
    await mkdir(path.dirname(path.join(project, file)), { recursive: true });
    await writeFile(path.join(project, file), code);
  }
  await writeFile(path.join(project, 'package.json'), '{"type":"module"}');

  // Nothing else is in this project's node_modules, so the emulator and its types can use only what its manifest lists.
  await install(Object.keys(manifest.dependencies));
  await writeFile(path.join(project, 'types.ts'), "export type * from 'http-api-emulator';\n");
  await compile(['types.ts'], false);
  await install(['aws-cdk-lib', 'constructs']);
  await compile(['*.ts'], true);

  // This also writes cdk.out, which the command then serves.
  expect(await ask('serve.ts')).toBe('Hello Ann');
  await run(process.execPath, ['token.ts'], { cwd: project });
  expect(await ask(bin, '--port', '0', '--options', 'options.json')).toBe('Hello Ann');
});
