/** A fake AWS account with one stack. It speaks HTTP, so that the SDK and the commands run as they do against AWS. */
import { createServer } from 'node:http';
import { startServer } from './servers.ts';

type Stack = { outputs?: Record<string, string>; logGroups?: Record<string, string> };
type Reply = { status?: number; body: object };
type Call = { operation: string; input: Record<string, unknown> };

const member = (fields: Record<string, string>): string =>
  `<member>${Object.entries(fields)
    .map(([name, value]) => `<${name}>${value}</${name}>`)
    .join('')}</member>`;

/** The two operations of CloudFormation. */
const cloudFormation = ({ outputs = {}, logGroups = {} }: Stack, input: Record<string, unknown>): string => {
  const listed = Object.entries(logGroups).map(([LogicalResourceId, PhysicalResourceId]) =>
    member({ ResourceType: 'AWS::Logs::LogGroup', LogicalResourceId, PhysicalResourceId }),
  );
  const role = member({ ResourceType: 'AWS::IAM::Role', LogicalResourceId: 'AuthorizerLogs00000000' });
  const content = {
    DescribeStacks: `<Stacks><member><Outputs>${Object.entries(outputs)
      .map(([OutputKey, OutputValue]) => member({ OutputKey, OutputValue }))
      .join('')}</Outputs></member></Stacks>`,
    ListStackResources: `<StackResourceSummaries>${[role, ...listed].join('')}</StackResourceSummaries>`,
  }[String(input['Action'])];
  return `<Response><${input['Action']}Result>${content}</${input['Action']}Result></Response>`;
};

/**
 * Starts the account. It knows only the stack PlantStore.
 * @param replyTo responds to the other services' operations
 * @returns the environment variables with which a command uses the account, and the calls that the account received
 */
export const startAccount = async (stack: Stack, replyTo: (operation: string, input: never) => Reply) => {
  const calls: Call[] = [];
  const server = createServer(async (request, response) => {
    const text = Buffer.concat(await request.toArray()).toString();
    const { 'x-amz-target': target } = request.headers;
    const input = target === undefined ? Object.fromEntries(new URLSearchParams(text)) : JSON.parse(text);
    const operation = String(target ?? input.Action).replace(/^.*\./, '');
    calls.push({ operation, input });
    if (target !== undefined) {
      const { status = 200, body } = replyTo(operation, input as never);
      return response.writeHead(status).end(JSON.stringify(body));
    }
    if (input.StackName === 'PlantStore') return response.end(cloudFormation(stack, input));
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
