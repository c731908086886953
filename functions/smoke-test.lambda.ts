import type { Context } from 'aws-lambda';
import { fromEnvironment } from './environment.ts';
import { type HookEvent, invoker, report } from './smoke-test/deployment.ts';
import { runChecks } from './smoke-test/run-checks.ts';

/** How many milliseconds of the function's time are kept for the report to CodeDeploy. */
const reportTime = 10_000;

/**
 * Checks the new versions before they get any request, and reports to CodeDeploy, which otherwise waits for an hour.
 * @throws the SDK's error if it cannot report
 */
export const handler = async (event: HookEvent, context: Context): Promise<void> => {
  let isGood = false;
  try {
    const deadline = AbortSignal.timeout(Math.max(0, context.getRemainingTimeInMillis() - reportTime));
    // The environment is read here and not when this file loads: if loading failed, nobody would report to CodeDeploy.
    isGood = await runChecks({
      versions: JSON.parse(fromEnvironment('VERSIONS')),
      issuer: fromEnvironment('ISSUER'),
      requestId: `smoke-test-${event.DeploymentId}`,
      invoke: invoker(deadline),
    });
  } catch (error) {
    console.error({ outcome: 'failed', problem: String(error) });
  }
  await report(event, isGood);
  console.info({ outcome: isGood ? 'succeeded' : 'failed', deployment: event.DeploymentId });
};
