/** Runs the recipes in docs/operate/, which are CDK apps, as their documents say. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { onTestFinished } from 'vitest';
import { featureFlags } from './feature-flags.ts';
import { run, temporaryFolder } from './local-service.ts';
import { type Template, withoutHashes } from './template.ts';

/** Finds a recipe's command in a document. @returns the keys of its settings, and a function that runs it */
export const readRecipe = (document: string) => {
  const [, app = '', options = ''] =
    /npx cdk deploy --app '([^']+)'((?:\\\n|.)*)/.exec(readFileSync(document, 'utf8')) ?? [];
  const synthesize = async (context: Record<string, string>) => {
    const { folder, remove } = await temporaryFolder();
    onTestFinished(remove);
    const CDK_CONTEXT_JSON = JSON.stringify({ ...featureFlags, ...context });
    const { code, stdout, stderr } = await run('sh', ['-c', app], { CDK_OUTDIR: folder, CDK_CONTEXT_JSON }).ended;
    const templateOf = (stack: string): Template =>
      withoutHashes(JSON.parse(readFileSync(path.join(folder, `${stack}.template.json`), 'utf8')));
    return { code, said: stdout + stderr, templateOf };
  };
  return { keys: [...options.matchAll(/-c (\w+)=/g)].map(([, key = '']) => key), synthesize };
};
