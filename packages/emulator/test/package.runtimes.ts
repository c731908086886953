/** Packs the emulator, checks the package with linters, and serves a small CDK app with it in an empty project. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';

const run = promisify(execFile);

const emulator = path.resolve(import.meta.dirname, '..');
const modules = path.resolve(createRequire(import.meta.url).resolve('aws-cdk-lib/package.json'), '../..');
const root = path.dirname(modules);
const tools = path.resolve('.ci/node_modules');

const folder = await mkdtemp(path.join(os.tmpdir(), 'emulator-test-'));
const project = path.join(folder, 'project');
const installed = path.join(project, 'node_modules/http-api-emulator');
const bin = path.join(installed, 'dist/command/bin.js');
let tarball = '';

/** Packs the emulator in a copy of its folder, because `npm pack` builds there. */
beforeAll(async () => {
  const source = path.join(folder, 'source');
  const copy = path.join(source, path.relative(root, emulator));
  await cp(emulator, copy, { recursive: true });
  for (const part of ['LICENSE', 'tsconfig.json']) await cp(path.join(root, part), path.join(source, part));
  await symlink(modules, path.join(source, 'node_modules'));
  await run('npm', ['pack', '--pack-destination', folder], { cwd: copy });
  tarball = path.join(folder, (await readdir(folder)).find((name) => name.endsWith('.tgz')) ?? 'no tarball');
  await mkdir(installed, { recursive: true });
  await run('tar', ['-xzf', tarball, '-C', installed, '--strip-components=1']);
});

afterAll(() => rm(folder, { recursive: true }));

test('the packed emulator passes publint and attw, and its command tells an old Node.js which one it needs', async () => {
  const publint = await run(process.execPath, [path.join(tools, 'publint/src/cli.js'), 'run', tarball, '--strict'], {
    env: { ...process.env, NO_COLOR: '1' },
  });
  expect(publint.stdout).toMatch(/\nAll good!\n$/);
  const attw = path.join(tools, '@arethetypeswrong/cli/dist/index.js');
  // `run` rejects if attw finds problems.
  await run(process.execPath, [attw, tarball, '--profile', 'esm-only']);

  const node20 = path.join(tools, `node-linux-${process.arch}/bin/node`);
  await expect(run(node20, [bin])).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^http-api-emulator needs Node.js 24\.5 or newer, but this is v20\.\S+ \(.*\)\.\n$/),
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

test('the packed emulator has the dependencies that it needs, includes types, and serves the example app of its README', async () => {
  const manifest = JSON.parse(await readFile(path.join(installed, 'package.json'), 'utf8'));
  expect(manifest).toMatchObject({
    engines: { node: '>=24.5' },
    exports: './dist/serve.js',
    bin: { 'http-api-emulator': 'dist/command/bin.js' },
  });
  const readme = await readFile(path.join(emulator, 'README.md'), 'utf8');
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
