import type { Context } from 'aws-lambda';
import { fromEnvironment } from '../packages/runtime/environment.ts';
import { CreatedItems } from '../packages/runtime/smoke-test/created-items.ts';
import { type HookEvent, invoker, report } from '../packages/runtime/smoke-test/deployment.ts';
import { runChecks } from '../packages/runtime/smoke-test/run-checks.ts';
import { key } from './plant-table.ts';
import { newChecks } from './smoke-checks.ts';

/** The checks end this many milliseconds before the function's time-out: 9 s for the report, and 4 s for the deletion. */
const reservedTime = 14_000;

/**
 * Checks the new versions of the functions before clients reach them, and reports to CodeDeploy, which would otherwise
 * wait for an hour. Then deletes what it has added. @throws the SDK's error if the report fails
 */
export const handler = async (event: HookEvent, context: Context): Promise<void> => {
  let isGood = false;
  let created: CreatedItems | undefined;
  try {
    const deadline = AbortSignal.timeout(Math.max(0, context.getRemainingTimeInMillis() - reservedTime));
    // Read the environment here, not when this file loads: if loading failed, nothing would report to CodeDeploy.
    created = new CreatedItems(fromEnvironment('TABLE_NAME'), key);
    isGood = await runChecks({
      checks: newChecks(),
      versions: JSON.parse(fromEnvironment('VERSIONS')),
      issuer: fromEnvironment('ISSUER'),
      requestId: `smoke-test-${event.DeploymentId}`,
      invoke: invoker(deadline),
      deadline,
      created,
    });
  } catch (error) {
    console.error({ outcome: 'failed', problem: String(error) });
  }
  try {
    await report(event, isGood);
    console.info({ outcome: isGood ? 'succeeded' : 'failed', deployment: event.DeploymentId });
  } finally {
    // Delete after the report, so that no fault of the deletion can delay or prevent the report.
    await created?.delete();
  }
};
