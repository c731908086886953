import type { Context } from 'aws-lambda';
import { fromEnvironment } from './environment.ts';
import { type HookEvent, invoker, report } from './smoke-test/deployment.ts';
import { runChecks } from './smoke-test/run-checks.ts';

/** The checks end this many milliseconds before the function's time-out, to leave time for the report to CodeDeploy. */
const reportTime = 10_000;

/**
 * Checks the new versions of the functions before clients reach them, and reports to CodeDeploy, which would otherwise
 * wait for an hour. @throws the SDK's error if the report fails
 */
export const handler = async (event: HookEvent, context: Context): Promise<void> => {
  let isGood = false;
  try {
    const deadline = AbortSignal.timeout(Math.max(0, context.getRemainingTimeInMillis() - reportTime));
    // Read the environment here, not when this file loads: if loading failed, nothing would report to CodeDeploy.
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
