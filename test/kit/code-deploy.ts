/** A stand-in for the parts of Lambda and CodeDeploy that the smoke test calls. */
import { createServer, type IncomingMessage } from 'node:http';
import type { Outcome } from '../../packages/emulator/lambda/functions.ts';
import { closeServer, listen } from '../../tools/start/listen.ts';

/** What Lambda answers: the outcome of the invocation, or the error with which it refuses to invoke the function. */
type Invocation = Outcome | { refused: string };

type Invoke = (arn: string, event: unknown) => Promise<Invocation>;

export type CodeDeploy = Awaited<ReturnType<typeof startCodeDeploy>>;

export const startCodeDeploy = async (invoke: Invoke) => {
  /** What smoke tests have reported to CodeDeploy, such as `d-1 Succeeded`. */
  const reports: string[] = [];
  const server = createServer(async (request, response) => {
    const body = JSON.parse(await textOf(request));
    const [, arn] = /^\/2015-03-31\/functions\/(.+)\/invocations$/.exec(request.url ?? '') ?? [];
    if (arn !== undefined) {
      const { status, headers, payload } = asLambda(await invoke(decodeURIComponent(arn), body));
      response.writeHead(status, { 'x-amzn-requestid': 'lambda-request', ...headers }).end(payload);
    } else if (request.url === '/' && request.headers['x-amz-target'] === reported) {
      reports.push(`${body.deploymentId} ${body.lifecycleEventHookExecutionId} ${body.status}`);
      response.writeHead(200, { 'content-type': 'application/x-amz-json-1.1' }).end('{}');
    } else response.writeHead(404).end();
  });
  const endpoint = `http://127.0.0.1:${await listen(server, 0)}`;
  const environment = {
    AWS_ENDPOINT_URL_LAMBDA: endpoint,
    AWS_ENDPOINT_URL_CODEDEPLOY: endpoint,
    AWS_REGION: 'us-east-1',
    AWS_ACCESS_KEY_ID: 'test',
    AWS_SECRET_ACCESS_KEY: 'test',
  };
  return { environment, reports, close: () => closeServer(server) };
};

const reported = 'CodeDeploy_20141006.PutLifecycleEventHookExecutionStatus';

const textOf = async (request: IncomingMessage): Promise<string> => Buffer.concat(await request.toArray()).toString();

/** Writes Lambda's response to a synchronous Invoke: https://docs.aws.amazon.com/lambda/latest/api/API_Invoke.html */
const asLambda = (invocation: Invocation) => {
  if ('refused' in invocation) {
    const headers = { 'x-amzn-errortype': invocation.refused };
    return { status: 403, headers, payload: JSON.stringify({ Message: 'secret' }) };
  }
  const lines = invocation.log.map((line) => JSON.stringify(line)).join('\n');
  const headers = { 'x-amz-log-result': Buffer.from(lines).subarray(-4_096).toString('base64') };
  if ('result' in invocation) return { status: 200, headers, payload: invocation.result };
  const payload = JSON.stringify({ errorType: 'Error', errorMessage: `secret ${invocation.failure}`, trace: [] });
  return { status: 200, headers: { ...headers, 'x-amz-function-error': 'Unhandled' }, payload };
};
