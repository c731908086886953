/** Tests the command `diff` in a small project, whose app writes a cloud assembly itself; diff.e2e.ts compares real stacks. */
import { mkdir, readdir } from 'node:fs/promises';
import path from 'node:path';
import { beforeEach, expect, test, vi } from 'vitest';
import { runHere } from '../cli/kit/run-here.ts';
import { files, startProject } from './kit/small-project.ts';

const app = `import { mkdirSync, writeFileSync } from 'node:fs';
const folder = process.env.CDK_OUTDIR;
if (JSON.parse(process.env.CDK_CONTEXT_JSON).stage === 'test') throw new Error('The stage is test.');
const stack = { type: 'aws:cloudformation:stack', environment: 'aws://1/eu', properties: { templateFile: 'one.json' } };
mkdirSync(folder);
writeFileSync(folder + '/manifest.json', JSON.stringify({ version: '48.0.0', artifacts: { Old: stack } }));
writeFileSync(folder + '/one.json', '{"Resources":{"One":{"Type":"AWS::SNS::Topic"}}}');
`;

let temporary: string;
let project: Awaited<ReturnType<typeof startProject>>;
beforeEach(async () => {
  project = await startProject();
  await project.commit({ 'infra/app.ts': app, 'cdk.json': '{ "app": "node infra/app.ts" }' });
  temporary = path.join(project.folder, 'tmp');
  await mkdir(temporary);
});

/** Runs the command in the folder of the project. */
const run = (...args: string[]) => {
  vi.spyOn(process, 'cwd').mockReturnValue(project.project);
  return runHere(['diff', ...args], { TMPDIR: temporary }).ended;
};

test('diff exits with code 0 if nothing has changed', async () => {
  const { code, stdout, stderr } = await run('-c', 'stage=prod', 'HEAD');
  expect(stdout).toMatch(
    /^From HEAD \([\da-f]{8}\) to the working tree\nStack Old\nNo differences\.\n.*\n\nNothing needs more than a review\.\n$/,
  );
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
});

test('diff fails if the stack moves to another region, even if its template stays the same', async () => {
  await project.write({ 'infra/app.ts': app.replace('aws://1/eu', 'aws://1/us') });
  const { code, stdout } = await run('HEAD');
  expect(stdout).toMatch(
    /\nFORBIDDEN: loss .*\n- The stack would stay behind in aws:\/\/1\/eu, .* in aws:\/\/1\/us\.\n$/,
  );
  expect(code).toBe(1);
});

test('if the deployed commit refuses a setting, diff names --deployed, and leaves no temporary file behind', async () => {
  const { code, stderr } = await run('--deployed', 'stage=test', 'HEAD');
  expect(stderr).toMatch(
    /^HEAD cannot be synthesized:\n(.*\n)*.*The stage is test\.\n(.*\n)*.* --deployed stage=dev\n$/,
  );
  expect(code).toBe(1);
  expect(await readdir(temporary)).toEqual([]);
});

test('diff explains a comparison with a commit from before a rename, and fails, because the old stack would stay behind', async () => {
  const renamed = app.replace('Old: stack', 'New: stack');
  await project.write({ 'infra/app.ts': renamed, 'package.json': files['package.json']?.replace('shop', 'pub') ?? '' });
  const { code, stdout } = await run('HEAD');
  expect(stdout).toMatch(
    /^From HEAD .*\nNothing is compared: HEAD is from before the project was renamed from shop to pub, .* create New beside Old, .*\n$/,
  );
  expect(code).toBe(1);
});
