/**
 * Runs `npm run diff` as a whole, in a copy of the project. The tests in tools/test/release/diff/ cover each kind of
 * change.
 */
import { copyFile, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { copyProject } from '../../../test/kit/copy-project.ts';
import { commitAll, git } from '../../../test/kit/git.ts';
import { temporaryFolder } from '../../../test/kit/local-service.ts';
import { type ProjectCopy, startIn } from '../../release/project-copy.ts';

const never = new AbortController().signal;
let copy: ProjectCopy;

const node = (...args: string[]) => startIn(copy, [process.execPath, ...args], never);
const diff = async (...args: string[]) => {
  const { ended, output } = node('tools/release/diff.ts', '-c', 'stage=prod', '-c', 'alarmEmail=none', ...args);
  return { code: await ended, output: output() };
};

const edit = async (file: string, from: RegExp, to: string) => {
  const name = path.join(copy.folder, file);
  const text = await readFile(name, 'utf8');
  expect(text).toMatch(from);
  await writeFile(name, text.replace(from, to));
};

beforeAll(async () => {
  const { folder, remove } = await temporaryFolder();
  copy = await copyProject(folder, never);
  // For a length, Ajv's code needs a file of node_modules, which the checkout of a commit has in another place.
  const parameter = '      parameters: [{ name: pot, in: query, schema: { type: string, maxLength: 9 } }]\n';
  await edit('schemas/openapi.yaml', /(?= {6}requestBody:)/, parameter);
  const prepare = node('packages/contract/main.ts', 'schemas/openapi.yaml', 'functions/generated');
  expect(await prepare.ended).toBe(0);
  // A new project has not released its contract yet.
  await mkdir(path.join(copy.folder, 'schemas/released'), { recursive: true });
  await copyFile(path.join(copy.folder, 'schemas/openapi.yaml'), path.join(copy.folder, 'schemas/released/0.0.1.yaml'));
  commitAll(copy.folder);
  return remove;
});

test('npm run diff fails if a change adds a permission, breaks clients and leaves Cognito, and reports all three, even with --allow route, which permits none', async () => {
  await edit('functions/create-plant.lambda.ts', /$/, '\nconsole.info();\n');
  await edit('infra/operations.ts', /(?<=createPlant: \{ \w+: \[)/, "'dynamodb:DeleteItem', ");
  await edit('schemas/openapi.yaml', /"409":/, '"410":');
  const own = ['-c', 'stage=dev', '-c', 'issuer=https://new.example', '-c', 'audience=urn:new'];
  const { code, output } = await diff('--allow', 'route', ...own, '--deployed', 'stage=dev', 'HEAD');
  expect(output).toMatch(
    /^From HEAD \([\da-f]{8}\) to the working tree\nStack PlantStore-dev\nIAM Statement Changes\n/,
  );
  expect(output).toMatch(/\nFORBIDDEN: iam .*\n- CreatePlant[\dA-F]{8} may now dynamodb:DeleteItem on \w+\.Arn\.\n\n/);
  expect(output).toMatch(/\nFORBIDDEN: loss .*\n(- .*\n)*- \w+ \(AWS::Cognito::UserPool\) would be deleted\.\n/);
  expect(output).toMatch(/\nFORBIDDEN: contract .*\n- \S+: POST \/\S+ no longer answers 409\.\n/);
  expect(output.match(/FORBIDDEN/g)).toHaveLength(3);
  // Only this line names the function, whose code and whose role's id have changed.
  expect(output).toMatch(/\nNew code: CreatePlant\w+\n/);
  expect(output).not.toMatch(/AWS::Lambda::\w+ CreatePlant/);
  expect(code).toBe(1);
});

describe('with a small CDK app, which is synthesized sooner', () => {
  beforeAll(async () => {
    git(copy.folder, 'checkout', '--quiet', '.');
    const app = `import { App, CfnResource, Stack } from 'aws-cdk-lib';
const app = new App();
if (app.node.tryGetContext('stage') === 'test') throw new Error('The stage is test.');
new CfnResource(new Stack(app, 'Old'), 'One', { type: 'AWS::SNS::Topic' });
`;
    await writeFile(path.join(copy.folder, 'infra/app.ts'), app);
    commitAll(copy.folder);
  });

  test('npm run diff exits with code 0 if nothing has changed', async () => {
    const { code, output } = await diff('HEAD');
    expect(output).toMatch(/^From HEAD .*\nStack Old\nNo differences\.\n\nNothing needs more than a review\.\n$/);
    expect(code).toBe(0);
  });

  test('if the deployed commit refuses a setting, npm run diff names --deployed, and leaves no temporary file behind', async () => {
    const { code, output } = await diff('--deployed', 'stage=test', 'HEAD');
    expect(output).toMatch(
      /\nHEAD cannot be synthesized:\n(.*\n)*.*The stage is test\.\n(.*\n)*.* --deployed stage=dev\n$/,
    );
    expect(code).toBe(1);
    expect(await readdir(copy.temporary)).toEqual([]);
  });

  test('npm run diff explains a comparison with a commit from before a rename, and fails, because the old stack would stay behind', async () => {
    await edit('package.json', /(?<="name": ")/, 'new-');
    await edit('infra/app.ts', /'Old'/, "'New'");
    const { code, output } = await diff('HEAD');
    expect(output).toMatch(
      /^From HEAD .*\nNothing is compared: HEAD is from before the project was renamed from (\S+) to new-\1, .* create New beside Old, .*\n$/,
    );
    expect(code).toBe(1);
  });
});
