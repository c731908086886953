/** Tests that the documents and the workflow that a team keeps fit the stack. */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { GitHubStack, readGitHub, settingKeys } from '@lambda-service/cdk';
import { Template } from 'aws-cdk-lib/assertions';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { withApp } from '../../stack/stacks.ts';
import { propertiesOf, withoutHashes } from '../../stack/template.ts';

const workflow = '.github/workflows/deploy.yml';

type Step = { run?: string; with?: Record<string, unknown> };
type Job = { environment?: string; 'timeout-minutes': number; steps?: Step[] };

/** The commands in the documents that deploy an optional stack: the file of its app, and the settings it is given. */
const recipes = globSync('docs/**/*.md').flatMap((document) => {
  const [, app, options = ''] =
    /npx cdk deploy --app 'npx node (\S+)'((?:\\\n|.)*)/.exec(readFileSync(document, 'utf8')) ?? [];
  const given = [...options.matchAll(/-c (\w+)=/g)].map(([, key]) => key);
  return app === undefined ? [] : [{ document, app, given }];
});

export const testDocuments = (): void => {
  test('docs/deploy.md lists all settings', () => {
    const [, table = ''] = /^## Settings\n(.*?)^## /ms.exec(readFileSync('docs/deploy.md', 'utf8')) ?? [];
    const cells = [...table.matchAll(/^\| (`.*?) \|/gm)].map(([, cell = '']) => cell);
    const listed = cells.flatMap((cell) => [...cell.matchAll(/`(\w+)`/g)].map(([, key]) => key));
    const message = 'The table below "Settings" in docs/deploy.md must have the keys that @lambda-service/cdk reads';
    expect(listed.sort(), message).toEqual([...settingKeys].sort());
  });

  test.each(recipes)('the command in $document gives $app the settings that it needs', ({ app, given }) => {
    const needed = [...readFileSync(app, 'utf8').matchAll(/setting\('(\w+)'\)/g)].map(([, key]) => key);
    expect(given.sort()).toEqual(needed.sort());
  });

  // A service that deploys in another way has no such workflow.
  if (existsSync(workflow)) testJobs((parse(readFileSync(workflow, 'utf8')) as { jobs: Record<string, Job> }).jobs);
};

const names = {
  title: 'Order Store',
  stack: 'OrderStore',
  tag: 'order-store',
  domainPrefix: 'orders',
  table: 'Orders',
};

const testJobs = (jobs: Record<string, Job>): void => {
  const { environments, roles } = withApp({ github: 'acme/orders' }, (app) => {
    const settings = readGitHub(app.node);
    if (settings === undefined) throw new Error('These are no settings for GitHub.');
    const template = Template.fromStack(new GitHubStack(app, names, settings)).toJSON();
    return { ...settings, roles: propertiesOf('AWS::IAM::Role', withoutHashes(template)) };
  });

  test(`${workflow} deploys each stage in the environment named after it, and the stack for GitHub trusts exactly these`, () => {
    const deployed = Object.values(jobs).flatMap(({ environment, steps = [] }) =>
      steps.flatMap(({ run = '' }) => {
        const [, stage] = /\bcdk synth .*-c stage=(\w+)/.exec(run) ?? [];
        return stage === undefined ? [] : [[environment, stage]];
      }),
    );
    expect(deployed).toEqual(environments.map((each) => [each, each]));
  });

  test.each(environments)(
    'the session of the job %s is as long as its role allows, and at least as long as the job',
    (name) => {
      const { steps = [], 'timeout-minutes': minutes } = jobs[name] ?? {};
      const inputs = steps.find((step) => step.with?.['role-to-assume'])?.with;
      // An hour is the default of both AWS and the action that asks for the session.
      const { MaxSessionDuration = 3600 } = roles[name === 'prod' ? 'Prod' : 'Dev'] ?? {};
      expect(MaxSessionDuration).toBe(inputs?.['role-duration-seconds'] ?? 3600);
      expect(Number(minutes) * 60).toBeLessThanOrEqual(Number(MaxSessionDuration));
    },
  );

  test('the job for prod can wait for two smoke tests that never report, one of them in the rollback; CodeDeploy gives each an hour', () => {
    expect(jobs['prod']?.['timeout-minutes']).toBeGreaterThanOrEqual(2 * 60 + 20);
  });
};
