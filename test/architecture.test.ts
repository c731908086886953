import { execFileSync } from 'node:child_process';
import { globSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { parseSync } from 'oxc-parser';
import { describe, expect, test } from 'vitest';
import runtimesConfig from '../packages/client/test/vitest.config.ts';
import browserConfig from '../tools/test/browser/vitest.config.ts';

const root = path.resolve(import.meta.dirname, '..');

/** The allowed imports: a file that matches `of` may import only files and packages that match one of `may`. */
const importRules: { of: RegExp; may: RegExp[] }[] = [
  // An entry file assembles a Lambda function (an operation, the authorizer or the smoke test) from its parts.
  {
    of: /^functions\/[^/]+\.lambda\.ts$/,
    may: [/^functions\/[^/.]+\.ts$/, /^functions\/(http|plants|auth|smoke-test|generated)\//, /^aws-lambda$/],
  },
  // The operations and environment.ts, which are also directly in functions/.
  { of: /^functions\/[^/.]+\.ts$/, may: [/^functions\/plants\//] },
  {
    of: /^functions\/http\//,
    may: [/^functions\/http\//, /^functions\/generated\//, /^@middy\//, /^(aws-lambda|ajv)$/, /^node:/],
  },
  {
    of: /^functions\/plants\//,
    may: [
      /^functions\/(plants\/|environment\.ts$)/,
      /^functions\/generated\/contract\.ts$/,
      /^@aws-sdk\/client-dynamodb$/,
      /^@smithy\/core\/retry$/,
    ],
  },
  { of: /^functions\/auth\//, may: [/^functions\/auth\//, /^aws-jwt-verify\//, /^node:/] },
  // Except for the generated contract, the smoke test shares no code with the functions that it tests.
  {
    of: /^functions\/smoke-test\//,
    may: [
      /^functions\/smoke-test\//,
      /^functions\/generated\/contract\.ts$/,
      /^@aws-sdk\/client-(codedeploy|lambda)$/,
      /^node:/,
    ],
  },
  // The stubs replace modules in the functions' bundles, so they must not import the stack's code or the CDK.
  { of: /^infra\/sdk-stubs\//, may: [/^@aws-sdk\/credential-provider-env$/, /^@smithy\/core\/config$/] },
  {
    of: /^infra\/[^/]+$/,
    may: [
      /^infra\//,
      /^functions\/generated\/contract\.ts$/,
      /^aws-cdk-lib/,
      /^(constructs|cdk-nag|esbuild|zod)$/,
      /^node:/,
    ],
  },
  // The emulator is a separate npm package, so it must not import other files of the project.
  {
    of: /^emulator\/(?!test\/)/,
    may: [
      /^emulator\/(?!test\/)/,
      /^(aws-lambda|dynalite(\/db\/index\.js)?|level|@aws-sdk\/client-dynamodb)$/,
      /^node:/,
      // Allow `import()` of a computed path, because the emulator loads the functions' handlers in this way.
      /^a computed path$/,
    ],
  },
  {
    of: /^local\//,
    may: [
      /^local\//,
      /^http-api-emulator$/,
      /^infra\//,
      /^functions\/generated\/contract\.ts$/,
      /^(aws-cdk-lib|chokidar|commander|esbuild|jose|oidc-provider|selfsigned|yaml)$/,
      /^node:/,
    ],
  },
  {
    of: /^cli\//,
    may: [
      /^cli\//,
      /^client\/[^/]+\.ts$/,
      /^local\/(printable|session|settings)\.ts$/,
      /^(cli-progress|commander|fflate|p-map|@aws-sdk\/client-[a-z-]+)$/,
      /^node:/,
    ],
  },
  // The client is a separate npm package without dependencies. Its bundle may include only these modules.
  { of: /^client\//, may: [/^client\//, /^functions\/generated\/contract\.ts$/, /^ky$/] },
  {
    of: /^scripts\//,
    may: [
      /^(infra|scripts)\//,
      /^(cli\/deployed-code|local\/(printable|stack-traces))\.ts$/,
      /^(ajv|commander|esbuild|json-schema-to-typescript|oxc-parser|playwright-core|yaml)/,
      /^(@aws-cdk\/cloudformation-diff|aws-cdk-lib\/cx-api)$/,
      /^node:/,
    ],
  },
];

const files = ['cli', 'client', 'emulator', 'functions', 'infra', 'local', 'scripts']
  .flatMap((folder) =>
    readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' }).map((file) => path.join(folder, file)),
  )
  .filter((file) => /\.ts$/.test(file) && !/^(functions\/generated|emulator\/test)\/|\.d\.ts$/.test(file));

const parse = (file: string) => {
  const source = readFileSync(path.join(root, file), 'utf8');
  const { module, errors } = parseSync(file, source);
  expect(errors, `errors in ${file}`).toEqual([]);
  return { source, module };
};

const importsOf = (file: string): string[] => {
  const { source, module } = parse(file);
  const reexports = module.staticExports.flatMap(({ entries }) =>
    entries.map(({ moduleRequest }) => moduleRequest?.value),
  );
  const lazy = module.dynamicImports.map(({ moduleRequest: { start, end } }) => {
    const [, literal] = /^'(.*)'$/.exec(source.slice(start, end)) ?? [];
    return literal ?? 'a computed path';
  });
  const specifiers = [...module.staticImports.map(({ moduleRequest }) => moduleRequest.value), ...reexports, ...lazy];
  return specifiers
    .filter((specifier) => specifier !== undefined)
    .map((specifier) => (specifier.startsWith('.') ? path.join(path.dirname(file), specifier) : specifier));
};

describe('the rules on which file may import which', () => {
  test('cover each source file with exactly one rule', () => {
    const kindsOf = (file: string): string[] =>
      importRules.map(({ of }) => of).flatMap((of) => (of.test(file) ? `${of}` : []));
    const unclear = files.map((file) => [file, kindsOf(file)] as const).filter(([, kinds]) => kinds.length !== 1);
    expect(Object.fromEntries(unclear)).toEqual({});
  });

  test('have no rule for files that do not exist', () => {
    expect(importRules.filter(({ of }) => !files.some((file) => of.test(file)))).toEqual([]);
  });

  test('let no file import both plants/ and auth/', () => {
    const both = files.filter((file) => {
      const rooms = importsOf(file).flatMap((target) => /^functions\/(plants|auth)\//.exec(target)?.[1] ?? []);
      return new Set(rooms).size > 1;
    });
    expect(both).toEqual([]);
  });

  test.each(files)('are obeyed by every import in %s', (file) => {
    const may = importRules.find(({ of }) => of.test(file))?.may ?? [];
    expect(importsOf(file).filter((target) => !may.some((allowed) => allowed.test(target)))).toEqual([]);
  });

  test('let http/ and plants/ import types from functions/generated/, but no values', () => {
    for (const file of files.filter((each) => /^functions\/(http|plants)\//.test(each))) {
      const values = parse(file)
        .module.staticImports.filter(({ moduleRequest }) => moduleRequest.value.includes('/generated/'))
        .filter(({ entries }) => !entries.every(({ isType }) => isType));
      expect(values, `imports of ${file}`).toEqual([]);
    }
  });
});

/** Lists the test files that Vitest runs. It is asked, because Node.js understands some patterns differently. */
const vitestFiles = (...options: string[]): string[] => {
  const command = ['node_modules/vitest/vitest.mjs', 'list', '--filesOnly', '--json', ...options];
  const listed: { file: string }[] = JSON.parse(execFileSync(process.execPath, command, { cwd: root }).toString());
  return listed.map(({ file }) => path.relative(root, file));
};

describe('the folder test/', () => {
  test('contains only tests and Vitest configurations, except in kit/ and breaks/', () => {
    const configured = [browserConfig.test?.include, runtimesConfig.test?.include].flat();
    const run = [...vitestFiles(), ...configured.flatMap((pattern) => globSync(pattern ?? [], { cwd: root }))];
    const others = globSync('test/**/*.*', { cwd: root }).filter(
      (file) => !run.includes(file) && !/^test\/(kit|breaks)\/|\/vitest\.config\.ts$/.test(file),
    );
    expect(others).toEqual([]);
  });

  test('has no test file that replaces modules, environment variables or the clock for the whole file, unless the file runs alone in a worker', () => {
    const lasting =
      /\bvi\.(?:mock|doMock|resetModules)\b|\bstart(?:InProcess|EventLoopClock)\b|\bprocess\.env(?:\[.+?\] =|,)/;
    const shared = vitestFiles('--project=shared');
    expect(shared.filter((file) => lasting.test(readFileSync(path.join(root, file), 'utf8')))).toEqual([]);
  });

  test('is not imported by files in other folders, except in template/bench/', () => {
    const outside = globSync(
      ['*.ts', '.ci/**/*.{ts,mjs}', '{cli,client,emulator,functions,infra,local,scripts}/**/*.{ts,js}'],
      {
        cwd: root,
        exclude: [
          '**/node_modules',
          '**/generated',
          'packages/emulator/test',
          '.ci/mutation/sandbox',
          '.ci/mutation/report',
        ],
      },
    );
    const importing = outside.filter((file) => importsOf(file).some((target) => /^(test|bench)\//.test(target)));
    expect(importing).toEqual([]);
  });
});
