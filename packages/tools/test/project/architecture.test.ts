/** Tests which file may import which, and that each file in a test folder runs. */
import { execFileSync } from 'node:child_process';
import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { parseSync } from 'oxc-parser';
import { describe, expect, test } from 'vitest';

const root = path.resolve(import.meta.dirname, '../../../..');

type Rule = {
  /** The files to which the rule applies. */
  of: RegExp;
  /** The rule in words. A refusal prints it. */
  rule: string;
  /** A file may import only these files and packages. */
  may: RegExp[];
};

const node = /^node:/;
const generated = /^functions\/generated\//;
/** A package from npm, or a door of one of ours. */
const anyPackage = /^(?:@[^/.]+\/)?[a-z][^./]*(?:\/(?!.*\.(?:ts|json)$).*)?$/;
const anyPackageBut = (others: string): RegExp => new RegExp(`^(?!${others})${anyPackage.source.slice(1)}`);

/** A package's files may import each other, and what its manifest names, but its tests' package only in tests. */
const packageRule = (name: string, ...more: RegExp[]): Rule => {
  const manifest = JSON.parse(readFileSync(path.join(root, `packages/${name}/package.json`), 'utf8'));
  const named = Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies, ...manifest.devDependencies });
  const dependencies = named.filter((each) => each !== '@lambda-service/testing');
  return {
    of: new RegExp(`^packages/${name}/(?!test/)`),
    rule: `a package imports only its own files and the dependencies in packages/${name}/package.json`,
    may: [
      new RegExp(`^packages/${name}/(?!test/)`),
      new RegExp(`^(?:${dependencies.join('|')})(?:/|$)`),
      node,
      ...more,
    ],
  };
};

/** The tests of a package may import all of its files, and other packages as anybody may: by their doors. */
const packageTestsRule = (name: string, others = anyPackage): Rule => ({
  of: new RegExp(`^packages/${name}/test/`),
  rule: "a package's tests import its own files, and of others only the doors in `exports`",
  may: [new RegExp(`^packages/${name}/`), others, node],
});

/** A room of the runtime may import its own files, those that lie beside the rooms, and `packages`. */
const roomRule = (room: string, ...packages: RegExp[]): Rule => ({
  of: new RegExp(`^packages/runtime/${room}/`),
  rule: `${room}/ knows no other room of the runtime, and of npm only what it wraps`,
  may: [new RegExp(`^packages/runtime/(${room}/)?[^/]+$`), /^aws-lambda$/, node, ...packages],
});

const rules: Rule[] = [
  {
    of: /^functions\/[^/]+\.lambda\.ts$/,
    rule: 'an entry builds a function from its operation, the runtime and generated/',
    may: [/^functions\/[^/.]+\.ts$/, generated, /^@lambda-service\/runtime\//, /^aws-lambda$/, node],
  },
  {
    of: /^functions\/[^/.]+\.ts$/,
    rule: 'an operation knows its table and the store, but no HTTP',
    may: [
      /^functions\/[^/.]+\.ts$/,
      generated,
      /^@lambda-service\/runtime\/(dynamodb|smoke-test)$/,
      /^@aws-sdk\/client-dynamodb$/,
      node,
    ],
  },
  {
    of: /^client\/[^/]+$/,
    rule: "the service's client is the contract in the hands of the platform's client",
    may: [generated, /^@lambda-service\/client$/],
  },
  {
    of: /^infra\//,
    rule: 'infra/ knows generated/ and the CDK; it names a function by the path of its entry',
    may: [/^infra\//, generated, /^@lambda-service\/cdk(\/|$)/, /^aws-cdk-lib(\/|$)/, /^constructs$/],
  },
  roomRule('http', /^@middy\//, /^ajv$/),
  roomRule('auth', /^aws-jwt-verify\//),
  roomRule('dynamodb', /^@aws-sdk\/client-dynamodb$/, /^@smithy\/core\/retry$/),
  roomRule('smoke-test', /^@aws-sdk\/client-(codedeploy|dynamodb|lambda)$/),
  {
    of: /^packages\/runtime\/[^/]+$/,
    rule: 'what all rooms of the runtime share imports nothing',
    may: [],
  },
  {
    ...packageRule('cdk'),
    of: /^packages\/cdk\/[^/]+$/,
  },
  {
    of: /^packages\/cdk\/sdk-stubs\//,
    rule: "a stub replaces a module in the functions' bundles, so it imports neither the stack nor the CDK",
    may: [/^@aws-sdk\/credential-provider-env$/],
  },
  {
    ...packageRule('contract'),
    of: /^packages\/contract\/(?!test\/|page\/)/,
  },
  {
    of: /^packages\/contract\/page\//,
    rule: 'the page knows a contract and what it is handed, not the compiler',
    may: [/^packages\/contract\/(page\/|document\.ts$)/, /^(marked|yaml)$/, node],
  },
  packageRule('client'),
  packageRule('testing', /^aws-lambda$/, /^a computed path$/),
  packageRule('tools', /^a computed path$/),
  // The emulator loads the functions' handlers with `import()` of a computed path.
  packageRule('emulator', /^aws-lambda$/, /^a computed path$/),
  // The emulator is published without the other packages, so its tests stand on none of them.
  packageTestsRule('emulator', anyPackageBut('@lambda-service/')),
  ...readdirSync(path.join(root, 'packages'))
    .filter((name) => !['emulator', 'tools'].includes(name) && existsSync(path.join(root, 'packages', name, 'test')))
    .map((name) => packageTestsRule(name)),
  {
    of: /^packages\/tools\/test\//,
    rule: 'tests of the tools and of the project know of another package only its doors, and no service',
    may: [/^(?!packages\/(?!tools\/)|functions\/|infra\/)/],
  },
  {
    of: /^((client\/)?test|template)\//,
    rule: 'tests know of a package only its doors',
    may: [/^(?!packages\/)/],
  },
  {
    of: /^\.ci\/|^[^/]+$/,
    rule: 'what starts the tests imports neither the inside of a package nor what the tests stand on',
    may: [/^(?!packages\/|@lambda-service\/testing(\/(?!preset$)|$))/],
  },
];

const files = globSync(['*.ts', '{.ci,client,functions,infra,packages,template,test}/**/*.ts'], {
  cwd: root,
  exclude: ['**/node_modules', '**/dist'],
}).filter((file) => !/^functions\/generated\/|\.d\.ts$/.test(file));

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

const imports = new Map(files.map((file) => [file, importsOf(file)]));

describe('the rules on which file may import which', () => {
  test('cover each file with exactly one rule, and each applies to a file', () => {
    const counts = files.map((file) => [file, rules.filter(({ of }) => of.test(file)).length] as const);
    const wrong = counts.filter(([, count]) => count !== 1).map(([file, count]) => `${file} has ${count} rules`);
    expect(wrong, 'If the folder is meant, add a rule for it to `rules` in this file').toEqual([]);
    const idle = rules.filter(({ of }) => !files.some((file) => of.test(file))).map(({ rule }) => rule);
    expect(idle, 'If their files are gone, delete these from `rules` in this file').toEqual([]);
  });

  test('are obeyed by every import', () => {
    const refusals = [...imports].flatMap(([file, targets]) => {
      // The test above reports a file without a rule.
      const { rule, may = [/^/] } = rules.find(({ of }) => of.test(file)) ?? {};
      const refused = targets.filter((target) => !may.some((allowed) => allowed.test(target)));
      return refused.map((target) => `${file} must not import ${target}: ${rule}`);
    });
    const message = 'If an import is meant, add it to `may` of that rule in this file';
    expect(refusals, message).toEqual([]);
  });

  test('allow no circle of imports within a package or folder, even if it imports only types', () => {
    const reach = (file: string, reached = new Set<string>()): Set<string> => {
      for (const target of imports.get(file) ?? []) if (!reached.has(target)) reach(target, reached.add(target));
      return reached;
    };
    const inCircle = files.filter((file) => reach(file).has(file));
    expect(inCircle, 'Move what these files share to one that imports none of them').toEqual([]);
  });

  test('let plant-table.ts and operations import types from functions/generated/, but no values', () => {
    for (const file of files.filter((each) => /^functions\/(?!smoke-checks)[^/.]+\.ts$/.test(each))) {
      const values = parse(file)
        .module.staticImports.filter(({ moduleRequest }) => moduleRequest.value.includes('/generated/'))
        .filter(({ entries }) => !entries.every(({ isType }) => isType));
      expect(values, `imports of ${file}`).toEqual([]);
    }
  });
});

describe('the test folders', () => {
  // Vitest is asked, because Node.js understands some patterns differently. It must be told the slow ones, too.
  const suffixes = ['.test.', '.fuzz.', '.fault.', '.trial.', '.e2e.'];
  const command = ['node_modules/vitest/vitest.mjs', 'list', ...suffixes, '--filesOnly', '--json'];
  const listed: { file: string; projectName: string }[] = JSON.parse(
    execFileSync(process.execPath, command, { cwd: root }).toString(),
  );
  const run = listed.map(({ file, projectName }) => ({ file: path.relative(root, file), projectName }));

  test('contain only tests, except in kit/', () => {
    const others = globSync(
      ['client', 'packages/*', '.'].map((folder) => `${folder}/test/**/*.ts`),
      { cwd: root },
    ).filter(
      (file) =>
        !run.some((each) => each.file === file) &&
        !/\/kit\/|^test\/service\.ts$|\.(browser|runtimes|journey)\.ts$/.test(file),
    );
    const message = 'Move these to a folder kit/, or name them as `include` in vitest.config.ts says';
    expect(others, message).toEqual([]);
  });

  test('have no file that replaces modules, environment variables or the clock for the whole file, unless the file runs alone in a worker', () => {
    const lasting =
      /testing\/suite\/(?:function|store-faults|endurance)'|\bvi\.(?:mock|doMock|resetModules)\b|\bstart(?:InProcess|EventLoopClock)\b|\bprocess\.env(?:\[.+?\] =|,)/;
    const shared = run.filter(({ projectName }) => projectName === 'shared').map(({ file }) => file);
    const wrong = shared.filter((file) => lasting.test(readFileSync(path.join(root, file), 'utf8')));
    expect(wrong, 'Name these files *.lambda.test.ts or *.alone.test.ts').toEqual([]);
  });
});
