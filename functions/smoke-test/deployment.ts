/** The smoke test's calls to AWS: to invoke a version, and to tell CodeDeploy whether to go on with the deployment. */
import { setTimeout } from 'node:timers/promises';
import { CodeDeployClient, PutLifecycleEventHookExecutionStatusCommand } from '@aws-sdk/client-codedeploy';
import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda';

/**
 * What a version answered. `failure` names the error if the version threw, crashed or timed out. `log` is the end of
 * what it logged, or empty if Lambda does not return its log. `requestId` is Lambda's.
 */
export type Answer = {
  result: Record<string, unknown>;
  failure?: string;
  log: string;
  requestId?: string | undefined;
};

/** Invokes a version, by its ARN. @throws the SDK's error if Lambda does not run it before the deadline */
export type Invoke = (version: string, event: object) => Promise<Answer>;

/** @param pause in milliseconds before an invocation that Lambda refused is repeated, until the deadline */
export const invoker = (deadline: AbortSignal, pause = 2_000): Invoke => {
  const client = new LambdaClient();
  return async (version, event) => {
    for (;;) {
      try {
        return await invoke(client, version, event, deadline);
      } catch (error) {
        // A version or a permission that was just deployed may need some seconds before it can be used.
        await setTimeout(pause, undefined, { signal: deadline }).catch(() => {
          throw error;
        });
      }
    }
  };
};

const invoke = async (
  client: LambdaClient,
  version: string,
  event: object,
  abortSignal: AbortSignal,
): Promise<Answer> => {
  const command = new InvokeCommand({ FunctionName: version, Payload: JSON.stringify(event), LogType: 'Tail' });
  const { FunctionError, Payload, LogResult = '', $metadata } = await client.send(command, { abortSignal });
  const result: Answer['result'] = Object(JSON.parse(Payload?.transformToString() || 'null'));
  return {
    result,
    ...(FunctionError !== undefined && { failure: String(result['errorType'] ?? FunctionError) }),
    log: Buffer.from(LogResult, 'base64').toString(),
    requestId: $metadata.requestId,
  };
};

/** https://docs.aws.amazon.com/codedeploy/latest/userguide/reference-appspec-file-structure-hooks.html */
export type HookEvent = { DeploymentId: string; LifecycleEventHookExecutionId: string };

/** Tells CodeDeploy whether the deployment may go on. @throws the SDK's error within ten seconds if it cannot */
export const report = async (event: HookEvent, isGood: boolean): Promise<void> => {
  const outcome = {
    deploymentId: event.DeploymentId,
    lifecycleEventHookExecutionId: event.LifecycleEventHookExecutionId,
    status: isGood ? 'Succeeded' : 'Failed',
  } as const;
  const client = new CodeDeployClient({ requestHandler: { requestTimeout: 2_000, throwOnRequestTimeout: true } });
  // No time-out of the SDK covers a response body that arrives slowly.
  const abortSignal = AbortSignal.timeout(9_000);
  await client.send(new PutLifecycleEventHookExecutionStatusCommand(outcome), { abortSignal });
};
