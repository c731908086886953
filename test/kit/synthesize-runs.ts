/**
 * Runs infra/app.ts once for each CDK context, for app.e2e.ts. All runs share one process, because each process needs 2
 * s to load CloudFormation's rules, against which CDK checks the template.
 */
import { featureFlags } from './feature-flags.ts';

const runs: { context: Record<string, string>; folder: string }[] = JSON.parse(process.env['RUNS'] ?? '');
const umask = process.umask();
for (const [index, { context, folder }] of runs.entries()) {
  process.umask(umask);
  process.env['CDK_OUTDIR'] = folder;
  process.env['CDK_CONTEXT_JSON'] = JSON.stringify({ ...featureFlags, ...context });
  // The query string makes Node load infra/app.ts again, although it has loaded the same file before.
  await import(`../../infra/app.ts?${index}`);
  // The CDK app synthesizes when the process emits this event.
  process.emit('beforeExit', 0);
}
