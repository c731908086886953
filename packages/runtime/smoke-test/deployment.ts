/** The smoke test's calls to AWS: it invokes function versions, and tells CodeDeploy whether to continue. */
import { setTimeout } from 'node:timers/promises';
import { CodeDeployClient, PutLifecycleEventHookExecutionStatusCommand } from '@aws-sdk/client-codedeploy';
import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda';

/**
 * The answer of a function version. `failure` names the error if the function threw, crashed or timed out. `log` is the
 * end of its log, if Lambda returned one.
 */
export type Answer = {
  result: Record<string, unknown>;
  failure?: string;
  log: string;
  requestId?: string | undefined;
};

/** Invokes a version by its ARN. @throws the SDK's error if Lambda returns no result before the deadline */
export type Invoke = (version: string, event: object) => Promise<Answer>;

export const invoker = (deadline: AbortSignal): Invoke => {
  const client = new LambdaClient();
  return async (version, event) => {
    for (;;) {
      try {
        return await invoke(client, version, event, deadline);
      } catch (error) {
        // Pause before the retry: a new version, or a new permission, may need some seconds before it can be used.
        await setTimeout(2_000, undefined, { signal: deadline }).catch(() => {
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

/** @throws the SDK's error, within ten seconds, if the call fails */
export const report = async (event: HookEvent, isGood: boolean): Promise<void> => {
  const outcome = {
    deploymentId: event.DeploymentId,
    lifecycleEventHookExecutionId: event.LifecycleEventHookExecutionId,
    status: isGood ? 'Succeeded' : 'Failed',
  } as const;
  const client = new CodeDeployClient({ requestHandler: { requestTimeout: 2_000, throwOnRequestTimeout: true } });
  // Abort after nine seconds, because no time-out of the SDK covers a response body that arrives slowly.
  const abortSignal = AbortSignal.timeout(9_000);
  await client.send(new PutLifecycleEventHookExecutionStatusCommand(outcome), { abortSignal });
};
