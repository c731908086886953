/** Makes a git repository with a small project, which stands for this one. */
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { commitAll, git, testFolder } from '@lambda-service/testing/programs';

/** Files by their paths. */
type Files = Record<string, string>;

const compiler = `import { mkdirSync, writeFileSync } from 'node:fs';
mkdirSync('functions/generated', { recursive: true });
writeFileSync('functions/generated/by', process.argv.slice(2).join());
`;

/** The files of the first commit. */
export const files: Files = {
  'infra/app.ts': 'the first version',
  'package.json': '{ "name": "shop", "scripts": { "prepare": "node check.cjs && node compile.ts contract output" } }',
  'package-lock.json': '{}',
  'compile.ts': compiler,
  '.gitignore': 'node_modules\n',
};

/** Makes the project in a new folder, which the end of the test removes. @returns both, and what changes the project */
export const startProject = async () => {
  const folder = await testFolder();
  const project = path.join(folder, 'here');
  const write = async (changed: Files, parent = project) => {
    for (const [file, content] of Object.entries(changed)) {
      await mkdir(path.dirname(path.join(parent, file)), { recursive: true });
      await writeFile(path.join(parent, file), content);
    }
  };
  const commit = async (changed: Files, parent?: string) => {
    await write(changed, parent);
    commitAll(parent ?? project);
  };
  await write({ 'node_modules/installed': 'here' });
  git(project, 'init', '--quiet');
  await commit(files);
  return { folder, project, write, commit };
};
