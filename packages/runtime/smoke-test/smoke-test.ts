import type { Context } from 'aws-lambda';
import { fromEnvironment } from '../environment.ts';
import { CreatedItems } from './created-items.ts';
import { type HookEvent, invoker, report } from './deployment.ts';
import type { Route } from './events.ts';
import { type AnyOperations, type Checks, runChecks } from './run-checks.ts';

/** The checks end this many milliseconds before the function's time-out: 9 s for the report, and 4 s for the deletion. */
const reservedTime = 14_000;

/**
 * `operations` is that of functions/generated/contract.ts. `newChecks` makes checks whose items no other run adds, and
 * `key` names the partition key of the table to which they add items.
 */
type SmokeTest<Operations extends AnyOperations<Operations>> = {
  operations: { readonly [Id in keyof Operations]: Route };
  key: string;
  newChecks: () => Checks<Operations>;
};

/**
 * Makes the handler of a hook of CodeDeploy. It checks the new versions of the functions before clients reach them, and
 * reports to CodeDeploy, which would otherwise wait for an hour. Then it deletes what it has added to the table. It reads
 * VERSIONS, ISSUER and TABLE_NAME. The handler throws the SDK's error if the report fails.
 * @example export const handler = smokeTest<Operations>({ operations, key: 'id', newChecks });
 */
export const smokeTest =
  <Operations extends AnyOperations<Operations>>({ operations, key, newChecks }: SmokeTest<Operations>) =>
  async (event: HookEvent, context: Context): Promise<void> => {
    let isGood = false;
    let created: CreatedItems | undefined;
    try {
      const deadline = AbortSignal.timeout(Math.max(0, context.getRemainingTimeInMillis() - reservedTime));
      // Read the environment here, not when this file loads: if loading failed, nothing would report to CodeDeploy.
      created = new CreatedItems(fromEnvironment('TABLE_NAME'), key);
      isGood = await runChecks({
        checks: newChecks(),
        routes: operations,
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
