import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { Starter } from '@lambda-service/tools/starter';
import { listFiles, root } from '../project.ts';
import type { ProjectFile } from './files.ts';
import { forService } from './platform.ts';

/** What a team owns, as patterns for git. */
const owned = [
  'functions',
  'infra',
  'schemas/openapi.yaml',
  'schemas/decisions.md',
  'test',
  'client',
  'docs',
  '.devcontainer',
  '.github',
  '.vscode',
  '.gitattributes',
  '.gitignore',
  '.node-version',
  '.npmrc',
  'CHANGELOG.md',
  'biome.json',
  'cdk.json',
  'tsconfig.json',
];

/** Not copied, because they are about this repository, its figures, or the packages. */
const ours = [
  'docs/images',
  'test/docs.test.ts',
  'test/pasted-commands.e2e.ts',
  'test/plants/new-fields.e2e.ts',
  'client/test/package.e2e.ts',
  'client/test/plant-store-client.runtimes.ts',
  'client/test/kit/installed-client.ts',
  '.github/workflows/commits.yml',
  '.github/ISSUE_TEMPLATE',
  '.github/CODE_OF_CONDUCT.md',
  '.github/CODEOWNERS',
  '.github/CONTRIBUTING.md',
  '.github/SUPPORT.md',
];

/** Files that a service has instead of ours, or that only a service needs. */
const replaced = 'template/service';

/** Reads the files of this project that a new service gets. */
export const readFiles = (): ProjectFile[] => {
  const copied = listFiles(...owned, ...ours.map((file) => `:(exclude)${file}`));
  const sources = new Map(copied.map((file) => [file, file]));
  for (const from of listFiles(replaced)) sources.set(path.relative(replaced, from), from);
  return Array.from(sources, ([file, from]) => ({ file, source: readFileSync(path.join(root, from), 'utf8') }));
};

/** Files of a new service that have nothing to do with its data. */
const common =
  /^(?:\.ci\/run|\.devcontainer\/.*|\.github\/(?:workflows\/.*|dependabot\.yml)|\.vscode\/.*|\.gitattributes|\.gitignore|\.npmrc|biome\.json|tsconfig\.json|vitest\.config\.ts)$/;

/** What a service that is made now gets. @throws Error if a file names plants otherwise than in these two names */
export const starterFor = (): Starter => {
  const files = readFiles().filter(({ file }) => common.test(file));
  const texts = files.map(({ file, source }) => {
    const text = forService(file, source, new Set())
      .replaceAll('PlantStore', '{{StackName}}')
      .replaceAll('Plant Store', '{{Title}}');
    if (/plant/i.test(text))
      throw new Error(`${file} is about plants, so its changes cannot be shown to other services.`);
    return [file, text];
  });
  const manifest = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'));
  const node = readFileSync(path.join(root, '.node-version'), 'utf8');
  const { dependencies, devDependencies, optionalDependencies } = manifest;
  const pins = { ...dependencies, ...devDependencies, ...optionalDependencies, '.node-version': node };
  return { files: Object.fromEntries(texts), pins };
};
