/** Tests that the documents and the workflow that a team keeps fit the stack. */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { settingKeys } from '@lambda-service/cdk';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { createOperation, errorNumbersOf, operations } from '../../data/index.ts';

const workflow = '.github/workflows/deploy.yml';

type Job = { 'timeout-minutes': number; steps?: { with?: Record<string, unknown> }[] };

const documents = globSync(['docs/**/*.md', 'node_modules/@lambda-service/cdk/*.md']).map((document) => ({
  document,
  text: readFileSync(document, 'utf8'),
}));

/** The commands in the documents that deploy an optional stack: the file of its app, and the settings it is given. */
const recipes = documents.flatMap(({ document, text }) => {
  const [, app, options = ''] = /npx cdk deploy --app 'npx node (\S+)'((?:\\\n|.)*)/.exec(text) ?? [];
  const given = [...options.matchAll(/-c (\w+)=/g)].map(([, key]) => key);
  return app === undefined ? [] : [{ document, app, given }];
});

export const testDocuments = (): void => {
  test('every command in the documents that deploys an optional stack is one that these tests can read', () => {
    const commands = documents.flatMap(({ text }) => text.match(/cdk deploy --app/g) ?? []);
    expect(recipes).toHaveLength(commands.length);
  });

  // A newer version of the packages may have more.
  test('docs/deploy.md lists only settings that exist', () => {
    const [, table = ''] = /^## Settings\n(.*?)^## /ms.exec(readFileSync('docs/deploy.md', 'utf8')) ?? [];
    const cells = [...table.matchAll(/^\| (`.*?) \|/gm)].map(([, cell = '']) => cell);
    const listed = cells.flatMap((cell) => [...cell.matchAll(/`(\w+)`/g)].map(([, key]) => key));
    expect(listed).toContain('stage');
    expect(settingKeys).toEqual(expect.arrayContaining(listed));
  });

  test('docs/api.md lists the errors of the contract', () => {
    const text = readFileSync('docs/api.md', 'utf8');
    const listed = [...text.matchAll(/^\| \d{3} \| (\d{5}) \|/gm)].map(([, number]) => Number(number));
    const numbers = operations.flatMap(({ responses }) => errorNumbersOf(responses));
    const ofCreate = operations
      .filter(({ id }) => id === createOperation.id)
      .flatMap(({ responses }) => errorNumbersOf(responses));
    const advice = 'The table "Responses" in docs/api.md must have the numbers in schemas/openapi.yaml, and no others';
    expect(listed, advice).toEqual(expect.arrayContaining(ofCreate));
    expect(numbers, advice).toEqual(expect.arrayContaining(listed));
  });

  test.each(recipes)('the command in $document gives $app the settings that it needs', ({ app, given }) => {
    const needed = [...readFileSync(app, 'utf8').matchAll(/setting\('(\w+)'\)/g)].map(([, key]) => key);
    expect(given.sort()).toEqual(needed.sort());
  });

  // A service that deploys in another way has no such workflow.
  if (!existsSync(workflow)) return;
  const { jobs }: { jobs: Record<string, Job> } = parse(readFileSync(workflow, 'utf8'));

  test.each([
    ['dev', 3_600],
    ['prod', 9_000],
  ])(`the job %s in ${workflow} ends within the %i seconds for which it may assume its role`, (name, seconds) => {
    const { steps = [], 'timeout-minutes': minutes } = jobs[name] ?? {};
    const inputs = steps.find((step) => step.with?.['role-to-assume'])?.with;
    // An hour is the default of both AWS and the action that asks for the session.
    expect(inputs?.['role-duration-seconds'] ?? 3_600).toBe(seconds);
    expect(Number(minutes) * 60).toBeLessThanOrEqual(seconds);
  });

  test('the job for prod can wait for two smoke tests that never report, one of them in the rollback; CodeDeploy gives each an hour', () => {
    expect(jobs['prod']?.['timeout-minutes']).toBeGreaterThanOrEqual(2 * 60 + 20);
  });
};
