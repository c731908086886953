/**
 * Runs infra/app.ts for app.e2e.ts with one context after another, in one process, because loading CloudFormation's
 * rules takes 2 s.
 */
import cdkJson from '../../cdk.json' with { type: 'json' };

const runs: { context: Record<string, string>; umask: string; folder: string }[] = JSON.parse(
  process.env['RUNS'] ?? '',
);
for (const [index, { context, umask, folder }] of runs.entries()) {
  process.umask(umask);
  process.env['CDK_OUTDIR'] = folder;
  process.env['CDK_CONTEXT_JSON'] = JSON.stringify({ ...cdkJson.context, ...context });
  // The query string makes Node load infra/app.ts again, although it has loaded the same file before.
  await import(`../../infra/app.ts?${index}`);
  // The CDK app synthesizes when the process emits this event.
  process.emit('beforeExit', 0);
}
