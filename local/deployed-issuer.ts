import { CloudFormationClient, DescribeStacksCommand } from '@aws-sdk/client-cloudformation';
import {
  CognitoIdentityProviderClient,
  DescribeUserPoolClientCommand,
} from '@aws-sdk/client-cognito-identity-provider';
import { reason } from './data-folder.ts';
import { fetchToken, NoTokenEndpoint, type TokenSource } from './session.ts';

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

/**
 * Milliseconds. "Your prefix domain might take up to one minute to take effect."
 * https://docs.aws.amazon.com/cognito-user-identity-pools/latest/APIReference/API_CreateUserPoolDomain.html
 */
const newDomain = { takes: 60_000, pause: 2_000 };

/**
 * A token of an issuer whose domain may be new: it is asked again while it does not answer as a token endpoint.
 * @param say is told, once, that it waits
 * @throws Error in one sentence
 */
export const fetchDeployedToken = async (source: TokenSource, say: (line: string) => void): Promise<string> => {
  const lastTry = performance.now() + newDomain.takes - newDomain.pause;
  for (let isFirst = true; ; isFirst = false) {
    try {
      return await fetchToken(source);
    } catch (error) {
      if (!(error instanceof NoTokenEndpoint) || performance.now() > lastTry) throw error;
      if (isFirst) say(`${error.message}. A new domain takes up to a minute to work: trying again ...`);
    }
    await new Promise((resolve) => setTimeout(resolve, newDomain.pause));
  }
};

const noRegion = 'no region is set; set AWS_REGION, for example AWS_REGION=eu-central-1';

/** What to do about an error of the SDK whose message does not say it. */
const advice = new Map([
  ['Region is missing', noRegion],
  // AWS_REGION is set, but empty.
  ['Region not accepted: region="" is not a valid hostname component.', noRegion],
  [
    'Could not load credentials from any providers',
    'no AWS credentials are found; set AWS_PROFILE to a profile that has some, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY',
  ],
]);

const explain = (error: unknown): string => advice.get(reason(error)) ?? reason(error);

/** The SDK knows the one variable, AWS's command line the other too. */
const region =
  process.env['AWS_DEFAULT_REGION'] && !process.env['AWS_REGION'] ? { region: process.env['AWS_DEFAULT_REGION'] } : {};

const readOutputs = async (stackName: string): Promise<Record<string, string>> => {
  try {
    const client = new CloudFormationClient(region);
    const { Stacks: [stack] = [] } = await client.send(new DescribeStacksCommand({ StackName: stackName }));
    return Object.fromEntries((stack?.Outputs ?? []).map(({ OutputKey, OutputValue }) => [OutputKey, OutputValue]));
  } catch (error) {
    throw new Error(`The stack ${stackName} cannot be read: ${explain(error)}`, { cause: error });
  }
};

const readClientSecret = async (userPoolId: string, clientId: string): Promise<string> => {
  const describe = new DescribeUserPoolClientCommand({ UserPoolId: userPoolId, ClientId: clientId });
  try {
    const { UserPoolClient } = await new CognitoIdentityProviderClient(region).send(describe);
    return UserPoolClient?.ClientSecret ?? '';
  } catch (error) {
    throw new Error(`The secret of the client ${clientId} cannot be read: ${explain(error)}`, { cause: error });
  }
};
