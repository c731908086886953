/** Tests, in a copy of the project, that code that does not fit the contract is generated again before it is used. */
import { cp, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { copyProject, ownCache } from '@lambda-service/testing/copy-project';
import { bodyOf, createOperation, operations } from '@lambda-service/testing/data';
import { fileFolder, run, startLocalService, tools } from '@lambda-service/testing/programs';
import { answer, startScriptedService } from '@lambda-service/testing/servers';
import { externalIssuer } from '@lambda-service/testing/stack';
import { beforeEach, expect, inject, test } from 'vitest';

const generated = 'functions/generated';

const home = await fileFolder();
const copy = await copyProject(home);
const project = copy.folder;

const read = (file: string) => readFile(path.join(project, file), 'utf8');
const write = (file: string, text: string) => writeFile(path.join(project, file), text);
const original = await read('schemas/openapi.yaml');
const { method, path: route } = createOperation;
const moved = original.replace(`\n  ${route}:\n`, '\n  /moved:\n');

const inProject = (script: string): [string, ...string[]] => ['sh', '-c', `cd '${project}' && exec ${script}`];
const runInProject = (script: string, environment: Record<string, string> = {}) => {
  const [command, ...args] = inProject(script);
  return run(command, args, { ...ownCache(copy), ...environment }).ended;
};

/** Synthesizes as `cdk deploy --app 'node infra/app.ts'` does. */
const synthesize = (folder: string) =>
  runInProject(`'${process.execPath}' infra/app.ts`, {
    CDK_OUTDIR: folder,
    CDK_CONTEXT_JSON: JSON.stringify({ stage: 'dev', ...externalIssuer }),
    CDK_VALIDATION: 'false',
  });

/** Does what every program does before it uses the generated code. */
const generateIfChanged = () =>
  runInProject(
    `'${process.execPath}' -e "import('@lambda-service/cdk/generated-code').then((code) => code.generateIfChanged())"`,
  );

// Before each test, the generated code is that of the original contract, but the contract has changed.
beforeEach(async () => {
  await write('schemas/openapi.yaml', moved);
  await cp(path.resolve(generated), path.join(project, generated), { recursive: true });
});

test('infra/app.ts synthesizes the contract as it is now', async () => {
  const folder = path.join(home, 'moved');
  expect(await synthesize(folder)).toMatchObject({ code: 0, stderr: '' });
  expect(await readFile(path.join(folder, `${inject('stackName')}-dev.template.json`), 'utf8')).toContain(
    `"${method} /moved"`,
  );
});

test('if the contract is refused, infra/app.ts says why in one line, and synthesizes nothing', async () => {
  await write('schemas/openapi.yaml', original.replace('operationId:', 'x-id:'));
  const folder = path.join(home, 'refused');
  const stderr = expect.stringMatching(/^schemas\/openapi\.yaml:\d+:\d+: .*operationId.*\n$/);
  expect(await synthesize(folder)).toEqual({ code: 1, stdout: '', stderr });
  await expect(readFile(folder)).rejects.toThrow('ENOENT');
});

test('npm start serves the contract as it is now, even after npm ci --ignore-scripts, which generates no code', async () => {
  await rm(path.join(project, generated), { recursive: true });
  const routes = operations.map((each) => `${each.method} ${each.path === route ? '/moved' : each.path}`);
  const data = path.join(home, 'data');
  const service = await startLocalService(data, ownCache(copy), inProject([...tools, 'start'].join(' ')));
  expect(await service.stop()).toMatchObject({
    code: 0,
    stdout: expect.stringContaining(`Serving ${routes.join(', ')} at`),
  });
});

test('the command of the service calls the contract as it is now', async () => {
  const { baseUrl, requests } = await startScriptedService(answer(404, {}));
  await write('items.ndjson', bodyOf());
  await runInProject(`'${process.execPath}' packages/tools/bin.js import items.ndjson --url ${baseUrl} --token a.b.c`);
  expect(requests).toMatchObject([{ url: '/moved' }]);
});

test('the tests run with code of the contract as it is now', async () => {
  // Vitest calls this function before it runs tests, which get what it provides.
  const setUp = `const provided = {};
    const { default: setUp } = await import('./packages/testing/bundled-stack.ts');
    const tearDown = await setUp({
      config: { provide: { service: process.cwd() + '/test/service.ts' } },
      provide: (key, value) => (provided[key] = value),
    });
    console.log(JSON.stringify(provided.template));
    await tearDown();`;
  const { stdout } = await runInProject(`'${process.execPath}' --input-type=module -e "${setUp}"`);
  expect(stdout).toContain(`"${method} /moved"`);
});

test('npm run typecheck compiles the contract as it is now', async () => {
  const { code, stderr } = await runInProject('npm run typecheck -- --version');
  expect(code, stderr).toBe(0);
  expect(await read(`${generated}/contract.ts`)).toContain('/moved');
});

test('a change of the generator, or a generation that was interrupted, makes the next program generate', async () => {
  const types = `${generated}/contract.ts`;
  await write('schemas/openapi.yaml', original);
  const before = await read(types);
  await write('packages/contract/types.ts', `${await read('packages/contract/types.ts')}// changed\n`);
  await generateIfChanged();
  const [, hash] = / ([0-9a-f]{64})$/m.exec(before) ?? [];
  expect(await read(types)).not.toContain(String(hash));
  await rm(path.join(project, types));
  await generateIfChanged();
  expect(await read(types)).toContain('SHA-256');
  const module = `${generated}/${createOperation.file}.js`;
  await rm(path.join(project, module));
  await generateIfChanged();
  expect(await read(module)).toContain('validate');
});
