/**
 * Stand-ins for AWS. They speak HTTP, so that the SDK and its users run as they do against AWS.
 * @example
 * const { environment, calls } = await startAccount({ outputs: { ApiUrl } }, () => ({ body: {} }));
 */
import { createServer } from 'node:http';
import { text as textOf } from 'node:stream/consumers';
import type { Outcome } from 'http-api-emulator';
import { closeServer, listen } from 'http-api-emulator/servers';
import { inject } from 'vitest';
import { startServer } from './servers/servers.ts';

type Stack = {
  outputs?: Record<string, string>;
  logGroups?: Record<string, string>;
  /** Other resources, each with the fields of CloudFormation's ListStackResources. */
  resources?: Record<string, string>[];
};
type Reply = { status?: number; body: object };
type Call = { operation: string; input: Record<string, unknown> };

const member = (fields: Record<string, string>): string =>
  `<member>${Object.entries(fields)
    .map(([name, value]) => `<${name}>${value}</${name}>`)
    .join('')}</member>`;

/** The two operations of CloudFormation. */
const cloudFormation = (
  { outputs = {}, logGroups = {}, resources = [] }: Stack,
  input: Record<string, unknown>,
): string => {
  const listed = Object.entries(logGroups).map(([LogicalResourceId, PhysicalResourceId]) =>
    member({ ResourceType: 'AWS::Logs::LogGroup', LogicalResourceId, PhysicalResourceId }),
  );
  const role = member({ ResourceType: 'AWS::IAM::Role', LogicalResourceId: 'AuthorizerLogs00000000' });
  const content = {
    DescribeStacks: `<Stacks><member><Outputs>${Object.entries(outputs)
      .map(([OutputKey, OutputValue]) => member({ OutputKey, OutputValue }))
      .join('')}</Outputs></member></Stacks>`,
    ListStackResources: `<StackResourceSummaries>${[role, ...listed, ...resources.map(member)].join('')}</StackResourceSummaries>`,
  }[String(input['Action'])];
  return `<Response><${input['Action']}Result>${content}</${input['Action']}Result></Response>`;
};

/**
 * Starts a fake AWS account with one stack, whose name begins with the service's in production.
 * @param replyTo responds to the other services' operations
 * @returns the environment variables with which a command uses the account, and the calls that the account received
 */
export const startAccount = async (stack: Stack, replyTo: (operation: string, input: never) => Reply) => {
  const calls: Call[] = [];
  const server = createServer(async (request, response) => {
    const text = await textOf(request);
    const { 'x-amz-target': target } = request.headers;
    const input = target === undefined ? Object.fromEntries(new URLSearchParams(text)) : JSON.parse(text);
    const operation = String(target ?? input.Action).replace(/^.*\./, '');
    calls.push({ operation, input });
    if (target !== undefined) {
      const { status = 200, body } = replyTo(operation, input as never);
      return response.writeHead(status).end(JSON.stringify(body));
    }
    if (input.StackName.startsWith(inject('stackName'))) return response.end(cloudFormation(stack, input));
    const message = `Stack with id ${input.StackName} does not exist`;
    const error = `<Code>ValidationError</Code><Message>${message}</Message>`;
    return response.writeHead(400).end(`<ErrorResponse><Error>${error}</Error></ErrorResponse>`);
  });
  const environment = {
    AWS_REGION: 'eu-central-1',
    AWS_ACCESS_KEY_ID: 'test',
    AWS_SECRET_ACCESS_KEY: 'test',
    AWS_ENDPOINT_URL: `http://127.0.0.1:${await startServer(server)}`,
  };
  return { calls, environment };
};

/** What Lambda answers: the outcome of the invocation, or the error with which it refuses to invoke the function. */
type Invocation = Outcome | { refused: string };

type Invoke = (arn: string, event: unknown) => Promise<Invocation>;

/** Starts a stand-in for the parts of Lambda and CodeDeploy that the smoke test calls. */
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
