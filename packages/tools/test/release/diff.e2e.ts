/**
 * Runs the command `diff` as a whole, in a copy of the project. diff.test.ts tests the command with a small project, and
 * the tests in packages/tools/test/release/diff/ cover each kind of change.
 */
import { globSync } from 'node:fs';
import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { copyProject } from '@lambda-service/testing/copy-project';
import { createOperation } from '@lambda-service/testing/data';
import { commitAll, testFolder } from '@lambda-service/testing/programs';
import { expect, test } from 'vitest';
import { startIn } from '../../release/project-copy.ts';

const never = new AbortController().signal;
const { id } = createOperation;

test('diff fails if a change adds a permission, breaks clients and leaves Cognito, and reports all three, even with --allow route, which permits none', async () => {
  const copy = await copyProject(await testFolder());
  const node = (...args: string[]) => startIn(copy, [process.execPath, ...args], never);
  const edit = async (file: string, from: RegExp, to: string) => {
    const name = path.join(copy.folder, file);
    const text = await readFile(name, 'utf8');
    expect(text).toMatch(from);
    await writeFile(name, text.replace(from, to));
  };
  // For a length, Ajv's code needs a file of node_modules, which the checkout of a commit has in another place.
  const parameter = '      parameters: [{ name: pot, in: query, schema: { type: string, maxLength: 9 } }]\n';
  await edit('schemas/openapi.yaml', /(?= {6}requestBody:)/, parameter);
  const prepare = node('packages/contract/main.ts', 'schemas/openapi.yaml', 'functions/generated');
  expect(await prepare.ended).toBe(0);
  // A new project has not released its contract yet.
  await mkdir(path.join(copy.folder, 'schemas/released'), { recursive: true });
  await copyFile(path.join(copy.folder, 'schemas/openapi.yaml'), path.join(copy.folder, 'schemas/released/0.0.1.yaml'));
  commitAll(copy.folder);

  await edit(`functions/${createOperation.file}.lambda.ts`, /$/, '\nconsole.info();\n');
  const [stack = ''] = globSync('infra/*-stack.ts', { cwd: copy.folder });
  await edit(stack, new RegExp(`(?<=\\.grant\\(${id}, )`), "'dynamodb:DeleteItem', ");
  await edit('schemas/openapi.yaml', /"409":/, '"410":');
  const own = ['-c', 'stage=dev', '-c', 'issuer=https://new.example', '-c', 'audience=urn:new'];
  const diff = node('packages/tools/bin.js', 'diff', '--allow', 'route', ...own, '--deployed', 'stage=dev', 'HEAD');
  const code = await diff.ended;
  const output = diff.output();
  expect(output).toMatch(/^From HEAD \([\da-f]{8}\) to the working tree\nStack \w+-dev\nIAM Statement Changes\n/);
  expect(output).toMatch(/\nFORBIDDEN: iam .*\n- Create\w+[\dA-F]{8} may now dynamodb:DeleteItem on \w+\.Arn\.\n\n/);
  expect(output).toMatch(/\nFORBIDDEN: loss .*\n(- .*\n)*- \w+ \(AWS::Cognito::UserPool\) would be deleted\.\n/);
  expect(output).toMatch(/\nFORBIDDEN: contract .*\n- \S+: POST \/\S+ no longer answers 409\.\n/);
  expect(output.match(/FORBIDDEN/g)).toHaveLength(3);
  // Only this line names the function, whose code and whose role's id have changed.
  expect(output).toMatch(/\nNew code: Create\w+\n/);
  expect(output).not.toMatch(/AWS::Lambda::\w+ Create/);
  expect(code).toBe(1);
});
