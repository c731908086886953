/**
 * `node template/interface.ts` writes the public interface of the packages to template/interface.txt: what is exported,
 * and names on which the operation of a deployed stack depends. A test compares it with the last release.
 */
import { existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
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
export const lastRelease = 'f7d7ce397d919b2b49296c61fef95617d38adfb1';

/** The declarations by what they declare, such as `@lambda-service/cdk: SmokeTest`. */
export type Interface = Map<string, string>;

const withoutComments = (source: string): string => source.replaceAll(/\/\*.*?\*\/|^\/\/.*$/gms, '');

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

const readDeclarations = (file: string): Declarations => {
  const declarations: Declarations = { own: new Map(), others: new Map(), exported: new Map(), all: [] };
  const { own, others, exported, all } = declarations;
  // A statement begins with a letter in the first column.
  for (const each of withoutComments(readFileSync(file, 'utf8')).split(/^(?=[a-z])/m)) {
    const statement = each.trim();
    const [, list, specifier] = /^(?:import|export) (?:type )?\{(.*?)\}(?: from '(\..*?)')?;$/s.exec(statement) ?? [];
    const [, everything] = /^export \* from '(\..*?)';$/.exec(statement) ?? [];
    const [, , name] =
      /^(export )?(?:declare )?(?:abstract )?(?:type|interface|class|const|let|function|enum) ([\w$]+)/.exec(
        statement,
      ) ?? [];
    if (everything !== undefined) all.push(fileOf(file, everything));
    for (const item of list?.split(',').filter((text) => text.trim() !== '') ?? []) {
      const [from = '', to = from] = item
        .trim()
        .replace(/^type /, '')
        .split(' as ');
      if (specifier !== undefined) others.set(to, { file: fileOf(file, specifier), name: from });
      if (statement.startsWith('export')) exported.set(to, specifier === undefined ? from : to);
    }
    if (name === undefined) continue;
    // Overloads of a function have one name.
    own.set(name, [own.get(name), statement.replace(/^export /, '')].filter(Boolean).join('\n'));
    if (statement.startsWith('export')) exported.set(name, name);
  }
  return declarations;
};

/** Adds what a package declares for one name, and whatever that names. */
const collect = (found: Interface, where: string, file: string, name: string): void => {
  const { own, others, all } = readDeclarations(file);
  const text = own.get(name);
  if (text === undefined) {
    const other = others.get(name);
    if (other !== undefined && existsSync(other.file)) collect(found, where, other.file, other.name);
    else for (const each of all) collect(found, where, each, name);
    return;
  }
  const key = `${where}: ${name}`;
  if (found.has(key)) return;
  found.set(key, text);
  for (const [word] of text.matchAll(identifier))
    if (word !== name && (own.has(word) || others.has(word))) collect(found, where, file, word);
};

const exportsOf = (file: string): string[] => {
  const { exported, all } = readDeclarations(file);
  return [...exported.keys(), ...all.flatMap(exportsOf)];
};

/** What the files and documents of a new service import. Other doors are for the packages themselves. */
const imported = new Set(
  readFiles().flatMap(({ source }) => [...source.matchAll(/ from '([^.][^']*)'/g)].map(([, door = '']) => door)),
);

/** Adds the exports of an unpacked package. */
const addPackage = (found: Interface, folder: string): void => {
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
      for (const each of exportsOf(own)) {
        found.set(`${where} exports ${each}`, '');
        collect(found, name, own, each);
      }
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
  const folder = mkdtempSync(path.join(os.tmpdir(), 'service-interface-'));
  try {
    for (const tarball of globSync('*.tgz', { cwd: packed })) {
      const unpacked = path.join(folder, tarball);
      mkdirSync(unpacked);
      run(packed, 'tar', '-xzf', tarball, '--strip-components=1', '-C', unpacked);
      addPackage(found, unpacked);
    }
    const context = { stage: 'prod', alarmEmail: 'alarms@example.com' };
    const stacks = await runApp(root, { outdir: path.join(folder, 'cdk.out'), context }, new AbortController().signal);
    for (const { template } of stacks.values()) addStack(found, template);
  } finally {
    rmSync(folder, { recursive: true });
  }
  return new Map([...found].sort(([a], [b]) => (a < b ? -1 : 1)));
};

export const textOf = (found: Interface): string =>
  [...found].map(([what, text]) => `${what}\n${text === '' ? '' : `${text.replaceAll(/^/gm, '  ')}\n`}`).join('');

/** Lists what a service may notice: what is gone, and what is declared otherwise, but for optional properties more. */
export const breaksOf = (before: string, after: string): string[] => {
  const blocks = (text: string) =>
    new Map(text.split(/^(?=\S)/m).map((block) => [block.split('\n')[0] ?? '', block.split('\n').slice(1)] as const));
  const now = blocks(after);
  return [...blocks(before)].flatMap(([what, lines]) => {
    const own = now.get(what);
    if (own === undefined) return [`${what} is gone`];
    const isKnown = (line: string) => lines.includes(line) || /^\s+(?:readonly )?\w+\?:/.test(line);
    return lines.every((line) => own.includes(line)) && own.every(isKnown) ? [] : [`${what} has changed`];
  });
};

type Release = { text: string; changelog: string };

/** Lists what breaks services, and is in no new entry *Breaking* of the changelog. */
export const unsaid = (before: Release, after: Release): string[] => {
  const said = newEntries(before.changelog, after.changelog).get('Breaking')?.join('\n') ?? '';
  const names = new Set(said.match(identifier));
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
