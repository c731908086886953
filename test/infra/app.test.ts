import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import cdkJson from '../../cdk.json' with { type: 'json' };
import { run, temporaryFolder } from '../local-service.ts';
import { externalIssuer } from './stacks.ts';

/** What `npx cdk` runs, as it runs it, but for the bundling. */
const synthesize = async (context: Record<string, string>) => {
  const { folder, remove } = await temporaryFolder();
  onTestFinished(remove);
  const CDK_CONTEXT_JSON = JSON.stringify({ ...cdkJson.context, 'aws:cdk:bundling-stacks': [], ...context });
  const ended = await run('sh', ['-c', cdkJson.app], { CDK_OUTDIR: folder, CDK_CONTEXT_JSON }).ended;
  return { ...ended, template: path.join(folder, 'PlantStore.template.json') };
};

test('the app synthesizes the stack with the settings of the context', async () => {
  const { code, template } = await synthesize(externalIssuer);
  expect(code).toBe(0);
  expect(await readFile(template, 'utf8')).toContain(externalIssuer.jwksUri);
});

test('the app ends at a wrong setting with one sentence and code 1', async () => {
  const { code, stdout, stderr } = await synthesize({ issuer: 'http://a.example' });
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr.split('\n').filter((line) => line !== '' && !line.startsWith('npm '))).toEqual([
    'The context value issuer is "http://a.example", but it must be an https:// URL without user, query or fragment.',
  ]);
});
