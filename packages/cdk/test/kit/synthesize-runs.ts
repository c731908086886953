/**
 * Runs CDK apps, each with its own CDK context, for app.e2e.ts. All share one process, because each process needs 2 s
 * to load CloudFormation's rules, against which CDK checks the template.
 */
import path from 'node:path';

const runs: { app: string; context: Record<string, string>; folder: string }[] = JSON.parse(process.env['RUNS'] ?? '');
const umask = process.umask();
for (const [index, { app, context, folder }] of runs.entries()) {
  process.umask(umask);
  process.env['CDK_OUTDIR'] = folder;
  process.env['CDK_CONTEXT_JSON'] = JSON.stringify(context);
  // The query string makes Node load an app again, although it has loaded the same file before.
  await import(`${path.resolve(app)}?${index}`);
  // The CDK app synthesizes when the process emits this event.
  process.emit('beforeExit', 0);
}
