import { CloudFormationClient, DescribeStacksCommand } from '@aws-sdk/client-cloudformation';
import {
  CognitoIdentityProviderClient,
  DescribeUserPoolClientCommand,
} from '@aws-sdk/client-cognito-identity-provider';
import { reason } from './data-folder.ts';
import type { TokenSource } from './session.ts';

/**
 * The Cognito client of a deployed stack. Its secret stands in no output: Cognito gives it to those who may ask.
 * AWS credentials and region come from the environment, as for `cdk deploy`.
 * @throws Error in one sentence, also where the stack trusts another issuer: it then says which
 */
export const readDeployedIssuer = async (stackName: string): Promise<TokenSource> => {
  const outputs = await readOutputs(stackName);
  const { TokenUrl: tokenUrl, ClientId: clientId, UserPoolId: userPoolId, Scope: scope, Issuer: issuer } = outputs;
  if (issuer !== undefined) {
    throw new Error(`The stack ${stackName} takes the tokens of ${issuer}: get one there, with the scope ${scope}.`);
  }
  if (!tokenUrl || !clientId || !userPoolId || !scope) {
    throw new Error(`The stack ${stackName} does not have the outputs of a Plant Store.`);
  }
  const clientSecret = await readClientSecret(userPoolId, clientId);
  return { tokenUrl, clientId, clientSecret, scope };
};

/** The SDK knows the one variable, AWS's command line the other too. */
const region =
  process.env['AWS_DEFAULT_REGION'] && !process.env['AWS_REGION'] ? { region: process.env['AWS_DEFAULT_REGION'] } : {};

const readOutputs = async (stackName: string): Promise<Record<string, string>> => {
  try {
    const client = new CloudFormationClient(region);
    const { Stacks: [stack] = [] } = await client.send(new DescribeStacksCommand({ StackName: stackName }));
    return Object.fromEntries((stack?.Outputs ?? []).map(({ OutputKey, OutputValue }) => [OutputKey, OutputValue]));
  } catch (error) {
    throw new Error(`The stack ${stackName} cannot be read: ${reason(error)}`, { cause: error });
  }
};

const readClientSecret = async (userPoolId: string, clientId: string): Promise<string> => {
  const describe = new DescribeUserPoolClientCommand({ UserPoolId: userPoolId, ClientId: clientId });
  try {
    const { UserPoolClient } = await new CognitoIdentityProviderClient(region).send(describe);
    return UserPoolClient?.ClientSecret ?? '';
  } catch (error) {
    throw new Error(`The secret of the client ${clientId} cannot be read: ${reason(error)}`, { cause: error });
  }
};
