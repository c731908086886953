/** Packs the emulator, unpacks it in an empty project with its dependencies, and serves a small CDK app there. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { emulator, modules, pack, run, unpack } from './kit/packed.ts';
import { temporaryFolder } from './kit/temporary.ts';

/** Runs a program that serves the example app, and sends a request to the address that it prints. */
const ask = async (project: string, args: string[]): Promise<string> => {
  const child = spawn(process.execPath, args, { cwd: project, stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const [line] = await Promise.race([once(child.stdout, 'data'), once(child, 'exit')]);
  const url = /http:\S+/.exec(String(line))?.[0];
  if (url === undefined) throw new Error(`${args[0]} printed or exited with: ${line}`);
  const answer = await (await fetch(`${url}/hello/Ann`)).text();
  child.kill();
  await once(child, 'exit');
  return answer;
};

test('the packed emulator has the dependencies that it needs, includes types, and serves the example app of its README', async () => {
  const folder = await temporaryFolder();
  const project = path.join(folder, 'project');
  const installed = path.join(project, 'node_modules/http-api-emulator');
  await mkdir(installed, { recursive: true });
  await unpack(await pack(folder), installed);
  const manifest = JSON.parse(await readFile(path.join(installed, 'package.json'), 'utf8'));
  const bin = { 'http-api-emulator': 'dist/command/bin.js' };
  expect(manifest).toMatchObject({ engines: { node: '>=24.5' }, exports: './dist/serve.js', bin });
  const install = async (names: string[]) => {
    for (const name of names) {
      await mkdir(path.dirname(path.join(project, 'node_modules', name)), { recursive: true });
      await symlink(path.join(modules, name), path.join(project, 'node_modules', name));
    }
  };
  const compile = async (include: string[], skipLibCheck: boolean) => {
    const options = { strict: true, noEmit: true, allowImportingTsExtensions: true, module: 'nodenext' };
    const compilerOptions = { ...options, target: 'es2024', types: ['node'], skipLibCheck };
    await writeFile(path.join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions, include }));
    await run(process.execPath, [path.join(modules, 'typescript/bin/tsc'), '-p', project]);
  };
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

  // The CDK's command line sets this variable.
  await run(process.execPath, ['app.ts'], { cwd: project, env: { CDK_OUTDIR: 'cdk.out', ...process.env } });
  expect(await ask(project, [path.join(installed, bin['http-api-emulator']), '--port', '0'])).toBe('Hello Ann');
  expect(await ask(project, ['serve.ts'])).toBe('Hello Ann');
  await run(process.execPath, ['token.ts'], { cwd: project });
  const options = ['--port', '0', '--options', 'options.json'];
  expect(await ask(project, [path.join(installed, bin['http-api-emulator']), ...options])).toBe('Hello Ann');
});
