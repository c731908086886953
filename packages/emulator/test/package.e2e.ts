/** Packs the emulator, unpacks it in an empty project with its dependencies, and serves a small CDK app there. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { temporaryFolder } from './kit/temporary.ts';

const run = promisify(execFile);
const emulator = path.resolve(import.meta.dirname, '..');
const modules = path.resolve(createRequire(import.meta.url).resolve('aws-cdk-lib/package.json'), '../..');
const root = path.dirname(modules);

/** Packs the emulator in a copy of its folder, because `npm pack` builds there, and another test may pack too. */
const pack = async (folder: string): Promise<string> => {
  const source = path.join(folder, 'source');
  const copy = path.join(source, path.relative(root, emulator));
  await cp(emulator, copy, { recursive: true });
  for (const part of ['LICENSE', 'tsconfig.json']) await cp(path.join(root, part), path.join(source, part));
  await symlink(modules, path.join(source, 'node_modules'));
  await run('npm', ['pack', '--pack-destination', folder], { cwd: copy });
  return path.join(folder, (await readdir(folder)).find((name) => name.endsWith('.tgz')) ?? 'no tarball');
};

test('the packed emulator has the dependencies that it needs, includes types, and serves the example app of its README', async () => {
  const folder = await temporaryFolder();
  const project = path.join(folder, 'project');
  const installed = path.join(project, 'node_modules/http-api-emulator');
  await mkdir(installed, { recursive: true });
  await run('tar', ['-xzf', await pack(folder), '-C', installed, '--strip-components=1']);
  const manifest = JSON.parse(await readFile(path.join(installed, 'package.json'), 'utf8'));
  expect(manifest).toMatchObject({ engines: { node: '>=24.5' }, exports: './dist/serve.js' });
  // Nothing else is in this project's node_modules, so the emulator can import only what its manifest lists.
  for (const name of [...Object.keys(manifest.dependencies), 'aws-cdk-lib', 'constructs', '@types']) {
    await mkdir(path.dirname(path.join(project, 'node_modules', name)), { recursive: true });
    await symlink(path.join(modules, name), path.join(project, 'node_modules', name));
  }
  const readme = await readFile(path.join(emulator, 'README.md'), 'utf8');
  for (const [, file = '', code = ''] of readme.matchAll(/^```\w+ (\S+)\n(.*?)^```/gms)) {
    await mkdir(path.dirname(path.join(project, file)), { recursive: true });
    await writeFile(path.join(project, file), code);
  }
  await writeFile(path.join(project, 'package.json'), '{"type":"module"}');
  const compilerOptions = { strict: true, noEmit: true, skipLibCheck: true, module: 'nodenext', target: 'es2024' };
  await writeFile(path.join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts'] }));
  await run(process.execPath, [path.join(modules, 'typescript/bin/tsc'), '-p', project]);

  const child = spawn(process.execPath, ['serve.ts'], { cwd: project, stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const [line] = await Promise.race([once(child.stdout, 'data'), once(child, 'exit')]);
  const url = /http:\S+/.exec(String(line))?.[0];
  if (url === undefined) throw new Error(`serve.ts printed or exited with: ${line}`);
  expect(await (await fetch(`${url}/hello/Ann`)).text()).toBe('Hello Ann');
  child.kill();
  await once(child, 'exit');
});
