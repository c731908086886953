/** Tests that no bundle exceeds its size limit or has an unlisted package, because both slow down every cold start. */
import { readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { mkdtempDisposable } from 'node:fs/promises';
import { isBuiltin } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createOperation } from '@lambda-service/testing/data';
import { operationNames, withApp } from '@lambda-service/testing/stack';
import { App, Duration, Stack } from 'aws-cdk-lib';
import { describe, expect, inject, test, vi } from 'vitest';
import { bundle, bundleInputs, esbuildOptions, listEntries } from '../bundling.ts';
import { defaultProvider } from '../sdk-stubs/credentials.ts';
import { BundledFunction } from '../service-function.ts';

/** The limits for the bundle of an operation: its size, and the packages that it may contain. */
const operation = {
  bytes: 192_000,
  packages: [
    '@aws-sdk/client-dynamodb',
    '@aws-sdk/core',
    '@aws-sdk/credential-provider-env',
    '@aws-sdk/dynamodb-codec',
    '@aws/lambda-invoke-store',
    '@middy/core',
    '@middy/http-json-body-parser',
    '@middy/util',
    '@middy/validator',
    '@middy/validator/node_modules/@middy/util',
    '@smithy/core',
    '@smithy/node-http-handler',
    '@smithy/signature-v4',
    '@smithy/types',
  ],
};

/** The authorizer's bundle contains each route with its scopes, so each route raises the size limit by 100 bytes. */
const authorizer = { bytes: 10_700 + 100 * operationNames.length, packages: ['aws-jwt-verify'] };

/** Only deployments wait for the smoke test to start, so its bundle may be larger. */
const smokeTest = {
  bytes: 305_000,
  packages: [...operation.packages, '@aws-sdk/client-codedeploy', '@aws-sdk/client-lambda'],
};

const limits: Record<string, typeof operation> = {
  authorizer,
  'smoke-test': smokeTest,
  // It is smaller, because template/bench/README.md promises how fast it starts.
  [createOperation.file]: { ...operation, bytes: 188_000 },
};

const deployed = inject('stack').functions.map(({ folder }) => ({ folder, file: path.join(folder, 'index.js') }));

describe.each(listEntries())('the bundle of %s', (entry) => {
  const code = bundle(entry);
  const { files, packages, generatedBytes } = bundleInputs(entry);
  const size = code.length - generatedBytes;
  const name = entry.replace('.lambda.ts', '');
  const { bytes, packages: allowed } = limits[name] ?? operation;
  const limit = `${name in limits ? name : 'operation'} in packages/cdk/test/bundling.test.ts`;

  test('is not larger than its size limit', () => {
    const message = `Without the contract's code, the bundle has ${size} bytes, ${size - bytes} over its limit. Make it smaller, or raise \`bytes\` of ${limit}`;
    expect(size, message).toBeLessThanOrEqual(bytes);
  });

  test('contains only the packages on its list, and no file that is only for development', () => {
    if (name in limits) expect(packages).not.toEqual([]);
    const message = `If the function needs these packages, add them to \`packages\` of ${limit}`;
    const others = packages.filter((each) => !allowed.includes(each.replace('node_modules/', '')));
    expect(others, message).toEqual([]);
    expect(files).toContain(`functions/${entry}`);
    expect(files.filter((file) => !/^(functions|packages\/runtime|packages\/cdk\/sdk-stubs)\//.test(file))).toEqual([]);
  });

  test("requires nothing but Node.js's own modules, so it depends on no package of the Lambda runtime", () => {
    const text = Buffer.from(code).toString();
    const required = [...text.matchAll(/(?<!')require\("([^"]+)"\)/g)].map(([, module = '']) => module);
    expect(required.filter((module) => !isBuiltin(module))).toEqual([]);
  });

  test('does not name the folder in which it was made, so that others can make the same bundle', () => {
    expect(Buffer.from(code).includes(path.resolve())).toBe(false);
  });

  test('does not load node:fs/promises, with which the SDK would look for ~/.aws/config, unless its entry asks for it', () => {
    const isStubbed = 'node:fs/promises' in esbuildOptions(entry).alias;
    expect(Buffer.from(code).includes('node:fs/promises')).toBe(!isStubbed);
  });

  test('is deployed as the only file of exactly one function; Lambda can read it, and other users cannot change it', () => {
    const own = deployed.filter(({ file }) => readFileSync(file).equals(code));
    const message = `functions/${entry} must be the code of one function of the stack`;
    expect(own, message).toHaveLength(1);
    for (const { folder, file } of own) {
      expect(readdirSync(folder)).toEqual(['index.js']);
      expect(statSync(file).mode & 0o777).toBe(0o644);
    }
  });
});

test.each([
  ['node:fs/promises', 'readFile'],
  ['node:fs/promises', 'writeFile'],
  ['@smithy/core/event-streams', 'EventStreamSerde'],
])(
  'a function that imports from %s, which has a stub, the name %s is bundled only if its entry asks for the real one',
  async (name, imported) => {
    await using folder = await mkdtempDisposable(path.join(tmpdir(), 'entry-'));
    const file = path.join(folder.path, 'export.lambda.ts');
    symlinkSync(path.resolve('node_modules'), path.join(folder.path, 'node_modules'));
    const entry = path.relative('functions', file);
    const source = `import { ${imported} } from '${name}';\nexport const handler = ${imported};\n`;
    writeFileSync(file, source);
    const line = `// @real-module ${name}`;
    expect(() => bundle(entry)).toThrow(
      `Bundles replace ${name} with a stub. To use the real module, add this line to functions/${entry}: ${line}`,
    );
    writeFileSync(file, `${line}\r\n${source}`);
    expect(bundle(entry).length).toBeGreaterThan(0);
    writeFileSync(file, '// @real-module node:os\n');
    expect(() => esbuildOptions(entry)).toThrow('but only these have stubs');
  },
);

test('an error in a file of a function that has the name of a stub says nothing of stubs', async () => {
  await using folder = await mkdtempDisposable(path.join(tmpdir(), 'entry-'));
  const entry = path.relative('functions', path.join(folder.path, 'export.lambda.ts'));
  writeFileSync(path.join(folder.path, 'export.lambda.ts'), `export { handler } from './files.ts';\n`);
  writeFileSync(path.join(folder.path, 'files.ts'), 'export const handler = ;\n');
  expect(() => bundle(entry)).toThrow(/files\.ts:1:23: ERROR: Unexpected ";"(?!.*@real-module)/s);
});

test('the stub for credentials reads them from the environment, and throws if there are none', async () => {
  vi.stubEnv('AWS_ACCESS_KEY_ID', '');
  await expect(defaultProvider({})()).rejects.toThrow('environment');
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'id');
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'secret');
  expect(await defaultProvider({})()).toMatchObject({ accessKeyId: 'id', secretAccessKey: 'secret' });
});

test("a function's asset has only its bundle, even if somebody has put other files into the folder", () => {
  const [entry = ''] = listEntries();
  const add = (app: App) =>
    new BundledFunction(new Stack(app, 'OrderStore'), 'CreateOrder', {
      ...{ entry, stage: 'dev', tracing: false, timeout: Duration.seconds(5) },
    });
  withApp({}, (app) => {
    add(app);
    const folder = path.join(app.outdir, 'bundles/CreateOrder');
    writeFileSync(path.join(folder, 'evil.js'), '');
    add(new App({ outdir: app.outdir }));
    expect(readdirSync(folder)).toEqual(['index.js']);
  });
});
