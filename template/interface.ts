/**
 * `node template/interface.ts` writes the public interface of the packages to template/interface.txt: what is exported,
 * and names on which the operation of a deployed stack depends. A test compares it with the last release.
 */
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { settingKeys } from '@lambda-service/cdk';
import { runApp, type Template } from '@lambda-service/tools/app';
import { newEntries } from '@lambda-service/tools/changelog';
import { readFiles } from './new/sources.ts';
import { type Manifest, packPackages } from './pack.ts';
import { root, run } from './project.ts';

export const interfaceFile = 'template/interface.txt';
export const changelogFile = 'packages/tools/CHANGELOG.md';

/** The commit whose interface is that of the last release. Before the first one: the commit that began to keep it. */
export const lastRelease = '6a49bb2dea09deb79cdc810645baa8a7fef785bd';

/** Declarations by what they declare, such as `@lambda-service/cdk: SmokeTest`; what is not exported, by its file. */
export type Interface = Map<string, string>;

const withoutComments = (source: string): string => source.replaceAll(/\/\*.*?\*\/|^\/\/[^\n]*$/gms, '');

/** What a declaration file declares, by name, and where the other names that it knows are from. */
type Declarations = {
  own: Map<string, string>;
  others: Map<string, { file: string; name: string }>;
  exported: Map<string, string>;
  /** The files all of whose exports this file exports, too. */
  all: string[];
};

const identifier = /[A-Za-z_$][\w$]*/g;

const fileOf = (from: string, specifier: string): string =>
  path.join(path.dirname(from), specifier.replace(/(?<!\.d)\.[jt]s$/, '.d.ts'));

const declaration = /^(?:export )?(?:declare )?(?:abstract )?(type|interface|class|const|let|function|enum) ([\w$]+)/;

/** Lists the names that a statement declares: one, or several constants. */
const namesIn = (statement: string): string[] => {
  const [, kind, name = ''] = declaration.exec(statement) ?? [];
  if (kind !== 'const') return name === '' ? [] : [name];
  // Only commas outside all brackets separate constants.
  let [before, flat] = ['', statement];
  while (before !== flat) [before, flat] = [flat, flat.replaceAll(/{[^{}]*}|\([^()]*\)|<[^<>=]*>|\[[^[\]]*]/g, '')];
  return [...flat.matchAll(/(?:const |, )([\w$]+)(?::| =)/g)].map(([, each = '']) => each);
};

/** @throws Error if an export is written in a way that this does not know, because it would be left out */
const readDeclarations = (file: string): Declarations => {
  const declarations: Declarations = { own: new Map(), others: new Map(), exported: new Map(), all: [] };
  const { own, others, exported, all } = declarations;
  // A statement begins with a letter in the first column.
  for (const each of withoutComments(readFileSync(file, 'utf8')).split(/^(?=[a-z])/m)) {
    const statement = each.trim();
    const isExport = statement.startsWith('export');
    const [, list, specifier] = /^(?:import|export) (?:type )?\{(.*?)\}(?: from '(.*?)')?;$/s.exec(statement) ?? [];
    const [, everything] = /^export \* from '(.*?)';$/.exec(statement) ?? [];
    const names = namesIn(statement);
    if (isExport && list === undefined && everything === undefined && names.length === 0)
      throw new Error(`${file} has an export that template/interface.ts cannot read: ${statement}`);
    if (everything !== undefined) all.push(fileOf(file, everything));
    for (const item of list?.split(',').filter((text) => text.trim() !== '') ?? []) {
      const [from = '', to = from] = item
        .trim()
        .replace(/^type /, '')
        .split(' as ');
      const isRelative = specifier?.startsWith('.') === true;
      if (specifier !== undefined && isRelative) others.set(to, { file: fileOf(file, specifier), name: from });
      if (specifier !== undefined && !isRelative && isExport) own.set(to, `from '${specifier}'`);
      if (isExport) exported.set(to, specifier === undefined ? from : to);
    }
    // Who calls a function does not see how it takes its argument apart.
    const text = statement.replace(/^export /, '').replaceAll(/(?<=[(,] ?)\{[^{}:]*\}(?=: )/g, 'props');
    for (const name of names) {
      // Overloads of a function have one name.
      own.set(name, [own.get(name), text].filter(Boolean).join('\n'));
      if (isExport) exported.set(name, name);
    }
  }
  return declarations;
};

/** Where a name is declared, and what it is called in the interface. Only an export has a name of its own. */
type Place = { file: string; name: string; key?: string | undefined };

/** A package: its name, and the folder of its declarations. */
type Owner = { name: string; dist: string };

/** Adds what a package declares for a name, and for whatever that names. */
const collect = (found: Interface, owner: Owner, { file, name, key }: Place): void => {
  const { own, others, exported, all } = readDeclarations(file);
  const here = own.has(name) ? name : (exported.get(name) ?? name);
  const text = own.get(here);
  const other = others.get(here);
  if (text === undefined) {
    if (other !== undefined) collect(found, owner, { ...other, key });
    else for (const each of all) collect(found, owner, { file: each, name, key });
    return;
  }
  const what = key ?? `${path.join(owner.name, path.relative(owner.dist, file)).replace(/\.d\.ts$/, '')}: ${name}`;
  if (found.has(what)) return;
  found.set(what, text);
  for (const [word] of text.matchAll(identifier))
    if (word !== here && (own.has(word) || others.has(word))) collect(found, owner, { file, name: word });
};

const exportsOf = (file: string): string[] => {
  const { exported, all } = readDeclarations(file);
  return [...exported.keys(), ...all.flatMap(exportsOf)];
};

/** Lists what the files and documents of a new service import. Other doors are for the packages themselves. */
const listImports = (): Set<string> =>
  new Set(
    readFiles().flatMap(({ source }) => [...source.matchAll(/ from '([^.][^']*)'/g)].map(([, door = '']) => door)),
  );

/** Adds the exports of an unpacked package, at the doors that are `imported`. */
const addPackage = (found: Interface, folder: string, imported: Set<string>): void => {
  const { name, exports }: Manifest = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8'));
  const doors = Object.entries('types' in Object(exports) ? { '.': exports } : Object(exports));
  for (const [door, target] of doors) {
    const { types } = Object(target);
    if (types === undefined) continue;
    for (const file of globSync(types, { cwd: folder })) {
      const own = path.join(folder, file);
      const where = path.join(
        name,
        door.includes('*') ? path.join(path.dirname(door), path.basename(file, '.d.ts')) : door,
      );
      if (door !== '.' && !imported.has(where)) continue;
      const owner = { name, dist: path.join(folder, 'dist') };
      for (const each of exportsOf(own)) collect(found, owner, { file: own, name: each, key: `${where}: ${each}` });
    }
  }
};

/** CloudFormation keeps these if a template no longer has them, or they hold what cannot be made again. */
const kept = /^AWS::(?:DynamoDB|Cognito|KMS|Logs::LogGroup|ApiGatewayV2::DomainName)/;

const addStack = (found: Interface, { Resources, Outputs = {} }: Template): void => {
  const text = JSON.stringify(Resources);
  const names = {
    setting: settingKeys,
    output: Object.keys(Outputs),
    'log field': [...text.matchAll(/\$\.(\w+)/g), ...text.matchAll(/\\"(\w+)\\":\\"\$context/g)].map(
      ([, field = '']) => field,
    ),
    variable: Object.values(Resources).flatMap(({ Properties }) =>
      Object.keys(Object(Object(Properties).Environment).Variables ?? {}),
    ),
    resource: Object.entries(Resources).flatMap(([id, { Type, DeletionPolicy }]) =>
      kept.test(Type) || DeletionPolicy === 'Retain' ? [`${id} (${Type})`] : [],
    ),
  };
  for (const [kind, some] of Object.entries(names)) for (const name of some) found.set(`${kind} ${name}`, '');
};

/** @param packed the folder of the tarballs */
export const readInterface = async (packed: string): Promise<Interface> => {
  const found: Interface = new Map();
  const imported = listImports();
  const folder = mkdtempSync(path.join(os.tmpdir(), 'service-interface-'));
  try {
    for (const tarball of globSync('*.tgz', { cwd: packed })) {
      const unpacked = path.join(folder, tarball);
      mkdirSync(unpacked);
      run(packed, 'tar', '-xzf', tarball, '--strip-components=1', '-C', unpacked);
      addPackage(found, unpacked, imported);
    }
    const certificateArn = 'arn:aws:acm:eu-central-1:123456789012:certificate/0';
    const context = { stage: 'prod', alarmEmail: 'none', domainName: 'api.example.com', certificateArn };
    const stacks = await runApp(root, { outdir: path.join(folder, 'cdk.out'), context }, new AbortController().signal);
    for (const { template } of stacks.values()) addStack(found, template);
  } finally {
    rmSync(folder, { recursive: true });
  }
  return new Map([...found].sort(([a], [b]) => (a < b ? -1 : 1)));
};

export const textOf = (found: Interface): string =>
  [...found].map(([what, text]) => `${what}\n${text === '' ? '' : `${text.replaceAll(/^/gm, '  ')}\n`}`).join('');

/** Lists what is gone or declared differently. Added optional properties do not count. */
export const breaksOf = (before: string, after: string): string[] => {
  const blocks = (text: string) =>
    new Map(text.split(/^(?=\S)/m).map((block) => [block.split('\n')[0] ?? '', block.split('\n').slice(1)] as const));
  const now = blocks(after);
  return [...blocks(before)].flatMap(([what, lines]) => {
    const own = now.get(what);
    if (own === undefined) return [`${what} is gone`];
    // What the newer declaration has between the lines of the older one.
    const more: string[] = [];
    let next = 0;
    for (const line of own)
      if (line === lines[next]) next += 1;
      else more.push(line);
    const isOptional = (line: string) => /^\s+(?:readonly )?\w+\?:/.test(line);
    return next === lines.length && more.every(isOptional) ? [] : [`${what} has changed`];
  });
};

type Release = { text: string; changelog: string };

/** Lists what breaks services, and is in no new entry *Breaking* of the changelog. */
export const unsaid = (before: Release, after: Release): string[] => {
  const said = newEntries(before.changelog, after.changelog).get('Breaking')?.join('\n') ?? '';
  const names = new Set((said.match(/`[^`]*`/g) ?? []).join(' ').match(identifier));
  return breaksOf(before.text, after.text).filter((each) => {
    const [, name = ''] = /([\w$]+)(?: \([\w:]+\))? (?:is gone|has changed)$/.exec(each) ?? [];
    return !names.has(name);
  });
};

/** Reads the interface and the changelog of the packages at a commit. */
export const releaseAt = (commit: string): Release => ({
  text: run(root, 'git', 'show', `${commit}:${interfaceFile}`),
  changelog: run(root, 'git', 'show', `${commit}:${changelogFile}`),
});

if (import.meta.main) {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'service-interface-'));
  try {
    packPackages(folder);
    writeFileSync(path.join(root, interfaceFile), textOf(await readInterface(folder)));
  } finally {
    rmSync(folder, { recursive: true });
  }
}
