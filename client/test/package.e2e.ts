/** Tests the client's npm package, installed into an empty project as a user would install it. */
import { globSync } from 'node:fs';
import { readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { transform } from 'esbuild';
import { parseSync } from 'oxc-parser';
import { describe, expect } from 'vitest';
import { operations } from '../../functions/generated/contract.ts';
import { run, test } from './kit/installed-client.ts';

const [source = ''] = globSync('client/*-client.ts');

/** The size limits of the client by the contract's number of operations. README.md rounds 11.2 KB to 11. */
const sizes = {
  code: (operations: number) => 11_200 + 300 * operations,
  tarball: (operations: number) => 25_500 + 500 * operations,
};

/** Type-checks the programs in a project that has installed the client's package. @returns the compiler's messages */
const check = async (project: string): Promise<string> => {
  const compilerOptions = { strict: true, noEmit: true, module: 'nodenext', target: 'es2022', types: [] };
  await writeFile(path.join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions }));
  const compile = run(process.execPath, ['node_modules/typescript/bin/tsc', '-p', project]);
  return compile.then(
    () => '',
    ({ stdout }) => stdout,
  );
};

const { createPlant } = operations;

/** A program that compiles only if it handles every error code, and if each line below `@ts-expect-error` is wrong. */
const sample = `
import { createPlantStoreClient } from 'plant-store-client';
import type { ErrorCode, OperationId, Operations, Result } from 'plant-store-client';

const token = async ({ refused }: { refused: boolean }) => (refused ? 'new' : 'old');
const client = createPlantStoreClient({ baseUrl: 'https://plants.example', token });
declare const body: Operations['createPlant']['body'];

// @ts-expect-error There is no option of this name.
createPlantStoreClient({ baseUrl: 'https://plants.example', token, timeout: 1 });
// @ts-expect-error An option of a client has no signal: the signal is an option of a call.
createPlantStoreClient({ baseUrl: 'https://plants.example', token, signal: AbortSignal.timeout(1) });
const sending = { fetch, headers: { 'user-agent': 'shop/1.0' }, attemptTimeout: 1_000, retries: 0 };
createPlantStoreClient({ baseUrl: 'https://plants.example', token, ...sending });

// @ts-expect-error A body is not a function.
const wrongBody: Operations['createPlant']['body'] = () => body;
// @ts-expect-error The contract has no error 99999.
const wrongCode: ErrorCode<'createPlant'> = 99999;
// @ts-expect-error The contract has no operation of this name.
const wrongOperation: OperationId = 'noSuchOperation';

const tell = (result: Result<'createPlant'>): string => {
  // @ts-expect-error A failed result has no body.
  result.body;
  if (result.ok) return 'created';
  switch (result.error) {
    ${createPlant.errorCodes.map((code) => `case ${code}: `).join('')}case 'token refused': case 'gateway':
      return \`\${result.status} \${result.message}\`;
    case 'no answer':
      // @ts-expect-error Without a response, there is no status.
      result.status;
      return result.message;
  }
};

tell(await client.createPlant(body));
`;

describe('the packed client', () => {
  test('depends on no package, includes the licence of the bundled ky, and links only to websites', async ({
    client,
  }) => {
    const read = (name: string) => readFile(path.join(client.installed, name), 'utf8');
    expect(JSON.parse(await read('package.json')).dependencies).toBeUndefined();
    expect(await read('dist/LICENSE.ky')).toContain('MIT License');
    const links = [...(await read('README.md')).matchAll(/\]\(([^)]+)\)/g)].map(([, link = '']) => link);
    expect(links.filter((link) => !/^(#|https:)/.test(link))).toEqual([]);
  });

  test('is not larger than its size limit', async ({ client }) => {
    const { length } = Object.keys(operations);
    const module = path.join(client.installed, 'dist', path.basename(source).replace('.ts', '.js'));
    const { code } = await transform(await readFile(module, 'utf8'), { minify: true, format: 'esm' });
    expect(gzipSync(code).length, 'bytes, minified and compressed').toBeLessThanOrEqual(sizes.code(length));
    expect((await stat(client.tarball)).size, 'bytes of the tarball').toBeLessThanOrEqual(sizes.tarball(length));
  });

  test('compiles in a program that handles every error', async ({ client }) => {
    await writeFile(path.join(client.project, 'sample.ts'), sample);
    expect(await check(client.project)).toBe('');
  });

  test('has an example for each export, and all examples compile', async ({ client }) => {
    const files = globSync('dist/**/*.d.ts', { cwd: client.installed });
    const types = await Promise.all(files.map((file) => readFile(path.join(client.installed, file), 'utf8')));
    const examples = [
      ...types.join('\n').matchAll(/@example((?:(?!\*\/).)*)\*\/\n\s*(?:export (?:declare const|type) )?(\w+)/gs),
    ].map(([, code = '', name = '']) => ({ name, code: code.replaceAll(/^ *\*/gm, '') }));

    const exported = parseSync(source, await readFile(source, 'utf8'))
      .module.staticExports.flatMap(({ entries }) => entries)
      .flatMap(({ exportName }) => exportName.name ?? []);
    const named = examples.map(({ name }) => name);
    expect(exported.filter((name) => !named.includes(name))).toEqual([]);

    const program = [
      "import { createPlantStoreClient } from 'plant-store-client';",
      "import type { Client, ClientOptions, ErrorCode, Operations, Options, Outcome, PlantStoreClient, Result, Token } from 'plant-store-client';",
      "declare const body: Operations['createPlant']['body'];",
      'declare const accessToken: string;',
      'declare const fetchToken: () => Promise<string>;',
      ...examples.map(({ code }) => `{\n${code}\n}`),
    ];
    await writeFile(path.join(client.project, 'examples.ts'), program.join('\n'));
    expect(await check(client.project)).toBe('');
  });
});
