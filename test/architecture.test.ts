import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { parseSync } from 'oxc-parser';
import { describe, expect, test } from 'vitest';

const root = path.resolve(import.meta.dirname, '..');

/** Who may import whom: a file, or a folder's files, and the files and packages that they may reach. */
const arrows: { of: RegExp; may: RegExp[] }[] = [
  {
    of: /^functions\/create-plant\.lambda\.ts$/,
    may: [
      /^functions\/(create-plant|environment)\.ts$/,
      /^functions\/(http|plants|generated)\//,
      /^@middy\/core$/,
      /^@aws-sdk\/client-dynamodb$/,
      /^aws-lambda$/,
    ],
  },
  {
    of: /^functions\/authorizer\.lambda\.ts$/,
    may: [/^functions\/environment\.ts$/, /^functions\/auth\//, /^aws-lambda$/],
  },
  { of: /^functions\/create-plant\.ts$/, may: [/^functions\/plants\//] },
  { of: /^functions\/environment\.ts$/, may: [] },
  {
    of: /^functions\/http\//,
    may: [/^functions\/http\//, /^functions\/generated\//, /^@middy\//, /^(aws-lambda|ajv)$/, /^node:/],
  },
  {
    of: /^functions\/plants\//,
    may: [/^functions\/plants\//, /^functions\/generated\/contract\.ts$/, /^@aws-sdk\/client-dynamodb$/],
  },
  { of: /^functions\/replaced\//, may: [/^@aws-sdk\/credential-provider-env$/] },
  { of: /^functions\/auth\//, may: [/^functions\/auth\//, /^aws-jwt-verify\//, /^node:/] },
  {
    of: /^infra\//,
    may: [/^infra\//, /^aws-cdk-lib/, /^(constructs|cdk-nag|cdk-monitoring-constructs|esbuild)$/, /^node:/],
  },
  {
    of: /^local\//,
    may: [
      /^local\//,
      /^infra\//,
      /^client\/plant-store-client\.ts$/,
      /^(cli-progress|commander|p-map)$/,
      /^(aws-cdk-lib|aws-lambda|dynalite|jose|level|oidc-provider|selfsigned|yaml|@aws-sdk\/client-[a-z-]+)$/,
      /^node:/,
    ],
  },
  // It is a package of its own: nothing else of the project goes into it.
  { of: /^client\//, may: [/^client\//, /^ky$/] },
  {
    of: /^scripts\//,
    may: [/^infra\/bundling\.ts$/, /^(ajv|esbuild|json-schema-to-typescript|yaml)/, /^node:/],
  },
];

const files = ['client', 'functions', 'infra', 'local', 'scripts']
  .flatMap((folder) =>
    readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' }).map((file) => path.join(folder, file)),
  )
  .filter((file) => /\.ts$/.test(file) && !/^(functions|client)\/generated\/|\.d\.ts$/.test(file));

const parse = (file: string) => {
  const source = readFileSync(path.join(root, file), 'utf8');
  const { module, errors } = parseSync(file, source);
  expect(errors).toEqual([]);
  return { source, module };
};

const importsOf = (file: string): string[] => {
  const { source, module } = parse(file);
  const reexports = module.staticExports.flatMap(({ entries }) =>
    entries.map(({ moduleRequest }) => moduleRequest?.value),
  );
  // Between its quotes; what is computed is no name that any arrow allows.
  const lazy = module.dynamicImports.map(({ moduleRequest: { start, end } }) => source.slice(start + 1, end - 1));
  const specifiers = [...module.staticImports.map(({ moduleRequest }) => moduleRequest.value), ...reexports, ...lazy];
  return specifiers
    .filter((specifier) => specifier !== undefined)
    .map((specifier) => (specifier.startsWith('.') ? path.join(path.dirname(file), specifier) : specifier));
};

describe('the import arrows', () => {
  test('see every file of the five folders', () => {
    expect(files).toContain('functions/http/errors.ts');
    expect(files.filter((file) => arrows.filter(({ of }) => of.test(file)).length !== 1)).toEqual([]);
  });

  test.each(files)('hold for %s', (file) => {
    const may = arrows.find(({ of }) => of.test(file))?.may ?? [];
    expect(importsOf(file).filter((target) => !may.some((allowed) => allowed.test(target)))).toEqual([]);
  });

  test('hold to types of the contract alone in http/ and plants/', () => {
    for (const file of files.filter((each) => /^functions\/(http|plants)\//.test(each))) {
      const values = parse(file)
        .module.staticImports.filter(({ moduleRequest }) => moduleRequest.value.includes('/generated/'))
        .filter(({ entries }) => !entries.every(({ isType }) => isType));
      expect(values).toEqual([]);
    }
  });
});
