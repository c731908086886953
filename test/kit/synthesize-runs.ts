/**
 * Run by app.e2e.ts: infra/app.ts under one context after another. In one process, CloudFormation's rules are loaded once,
 * which takes 2 s.
 */
import cdkJson from '../../cdk.json' with { type: 'json' };

const runs: { context: Record<string, string>; umask: string; folder: string }[] = JSON.parse(
  process.env['RUNS'] ?? '',
);
for (const [index, { context, umask, folder }] of runs.entries()) {
  process.umask(umask);
  process.env['CDK_OUTDIR'] = folder;
  process.env['CDK_CONTEXT_JSON'] = JSON.stringify({ ...cdkJson.context, ...context });
  // The query makes Node load the module again.
  await import(`../../infra/app.ts?${index}`);
  // The app waits for this to synthesize.
  process.emit('beforeExit', 0);
}
