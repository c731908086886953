import { CloudFormation } from '@aws-sdk/client-cloudformation';
import { CognitoIdentityProvider } from '@aws-sdk/client-cognito-identity-provider';
import { fetchToken, NoTokenEndpoint, type TokenSource } from '../start/session.ts';
import { orExplain } from './aws.ts';

/** A stack's outputs, by their names. */
type Outputs = Record<string, string>;

/**
 * Reads the token URL and the Cognito client of a deployed stack. The client's secret is not in the stack's outputs:
 * Cognito returns it if the user has permission. AWS credentials and region come from the environment.
 * @param outputs the stack's outputs, if they are known already
 * @throws Error with a one-sentence message; if the stack does not use Cognito, the message names the issuer
 */
export const readDeployedIssuer = async (stackName: string, outputs?: Outputs): Promise<TokenSource> => {
  const known = outputs ?? (await readOutputs(stackName));
  const { TokenUrl: tokenUrl, ClientId: clientId, UserPoolId: userPoolId, Scope: scope, Issuer: issuer } = known;
  if (issuer !== undefined) {
    throw new Error(
      `The stack ${stackName} accepts tokens from ${issuer}: get one there, with the scope ${scope} (for calls from here, set ACCESS_TOKEN to it).`,
    );
  }
  if (!tokenUrl || !clientId || !userPoolId || !scope) throw noService(stackName);
  const clientSecret = await readClientSecret(userPoolId, clientId);
  return { tokenUrl, clientId, clientSecret, scope };
};

/**
 * Reads the outputs of a deployed stack, with the address of the service, and its issuer unless that is the stack's own
 * user pool.
 * @throws Error with a one-sentence message
 */
export const readDeployment = async (stackName: string) => {
  const outputs = await readOutputs(stackName);
  const { ApiUrl: url, Issuer: issuer } = outputs;
  if (url) return { url, issuer, outputs };
  throw noService(stackName);
};

const noService = (stackName: string): Error =>
  new Error(`The stack ${stackName} does not have the outputs of a service.`);

/**
 * How long to retry until a new Cognito domain works, and how long to wait between attempts, in milliseconds. AWS says:
 * "Your prefix domain might take up to one minute to take effect."
 * https://docs.aws.amazon.com/cognito-user-identity-pools/latest/APIReference/API_CreateUserPoolDomain.html
 */
const newDomain = { giveUpAfter: 60_000, retryDelay: 2_000 };

/**
 * Gets a token from an issuer whose domain may be so new that it does not work yet: retries for up to a minute, until
 * the issuer's token endpoint responds.
 * @param say is called once, with a line for the user, if the first attempt fails
 */
export const fetchDeployedToken = async (source: TokenSource, say: (line: string) => void): Promise<string> => {
  const lastTry = performance.now() + newDomain.giveUpAfter - newDomain.retryDelay;
  for (let isFirst = true; ; isFirst = false) {
    try {
      return await fetchToken(source);
    } catch (error) {
      if (!(error instanceof NoTokenEndpoint) || performance.now() > lastTry) throw error;
      if (isFirst) say(`${error.message}. A new domain takes up to a minute to work: trying again ...`);
    }
    await new Promise((resolve) => setTimeout(resolve, newDomain.retryDelay));
  }
};

const readOutputs = (stackName: string): Promise<Outputs> =>
  orExplain(`The stack ${stackName} cannot be read`, async () => {
    const { Stacks: [stack] = [] } = await new CloudFormation().describeStacks({ StackName: stackName });
    return Object.fromEntries((stack?.Outputs ?? []).map(({ OutputKey, OutputValue }) => [OutputKey, OutputValue]));
  });

const readClientSecret = (userPoolId: string, clientId: string): Promise<string> =>
  orExplain(`The secret of the client ${clientId} cannot be read`, async () => {
    const cognito = new CognitoIdentityProvider();
    const found = await cognito.describeUserPoolClient({ UserPoolId: userPoolId, ClientId: clientId });
    return found.UserPoolClient?.ClientSecret ?? '';
  });
