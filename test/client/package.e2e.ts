/** Tests the packed client, installed into an empty project as its users install it. */
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { installClient } from '../kit/installed-client.ts';
import { run, temporaryFolder } from '../kit/local-service.ts';
import { answer, startScriptedService } from '../kit/scripted-service.ts';

/** A program that compiles only if it handles every error code, and if each `@ts-expect-error` line is an error. */
const sample = `
import { createPlantStoreClient } from 'plant-store-client';
import type { ErrorCode, NewPlant, OperationId, Plant, Result } from 'plant-store-client';

const token = async ({ refused }: { refused: boolean }) => (refused ? 'new' : 'old');
const client = createPlantStoreClient({ baseUrl: process.argv[2] ?? '', token });
const moss: NewPlant = { id: 9223372036854775807n, name: 'Moss' };

// @ts-expect-error An id is not a string.
const wrongId: NewPlant = { id: '1', name: 'Moss' };
// @ts-expect-error The contract has no error 40099.
const wrongCode: ErrorCode<'createPlant'> = 40099;
// @ts-expect-error The contract has no operation of this name.
const wrongOperation: OperationId = 'noSuchOperation';

const tell = (result: Result<'createPlant'>): string => {
  // @ts-expect-error A failed result has no body.
  result.body;
  if (result.ok) return result.body.name;
  switch (result.error) {
    case 40001: case 40002: case 40901: case 41301: case 41501: case 41502: case 50001: case 50301: case 50302: case 'gateway':
      return \`\${result.status} \${result.message}\`;
    case 'no answer':
      return result.message;
  }
};

const fern: Plant = { name: 'Fern', tag: 'shade' };
console.log(tell(await client.createPlant(moss)), tell(await client.createPlant({ id: 1, ...fern })));
`;

test('the packed client installs without a network, type-checks, and runs', async () => {
  const { folder, remove } = await temporaryFolder();
  onTestFinished(remove);
  const home = await installClient(folder);
  const installed = path.join(home, 'node_modules/plant-store-client');
  const manifest = JSON.parse(await readFile(path.join(installed, 'package.json'), 'utf8'));
  expect(manifest.dependencies).toBeUndefined();
  expect(await readFile(path.join(installed, 'dist/LICENSE.ky'), 'utf8')).toContain('MIT License');

  const file = path.join(home, 'sample.ts');
  await writeFile(file, `declare const process: { argv: string[] };${sample}`);
  const types = 'declare const process: { env: Record<string, string | undefined> };\n';
  for (const [index, document] of ['README.md', path.join(installed, 'README.md')].entries()) {
    const [, code = ''] = /^```ts\n(.*?)^```/ms.exec(await readFile(document, 'utf8')) ?? [];
    const checkable = code.replaceAll('process.env.TOKEN', "process.env['TOKEN']");
    await writeFile(path.join(home, `readme${index}.ts`), types + checkable);
  }
  const compilerOptions = { strict: true, noEmit: true, module: 'nodenext', target: 'es2022', types: [] };
  await writeFile(path.join(home, 'tsconfig.json'), JSON.stringify({ compilerOptions }));
  const checked = await run(process.execPath, ['node_modules/typescript/bin/tsc', '-p', home]).ended;
  expect(checked).toMatchObject({ stdout: '', code: 0 });

  const { baseUrl, received } = await startScriptedService(
    answer(403, { message: 'Forbidden' }),
    answer(200, { name: 'Moss' }),
    answer(409, { error: 40901, message: 'taken' }),
  );
  expect(await run(process.execPath, [file, baseUrl]).ended).toEqual({
    code: 0,
    stdout: 'Moss 409 taken\n',
    stderr: '',
  });
  expect(received.map(({ authorization, body }) => `${authorization} ${body}`)).toEqual([
    'Bearer old {"id":9223372036854775807,"name":"Moss"}',
    'Bearer new {"id":9223372036854775807,"name":"Moss"}',
    'Bearer old {"id":1,"name":"Fern","tag":"shade"}',
  ]);
});
